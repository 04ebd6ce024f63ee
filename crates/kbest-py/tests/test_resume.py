"""Training that is stopped and goes on: the same model as without a stop."""

from __future__ import annotations

import kbest
import pytest
from kbest import errors
from test_segment_models import X as SPANS, Y as TAGS
from test_text import X, Y as CLEAN, corpus

# Every seventh label is wrong, so that nothing is learned for good in a pass or two.
Y = [[label if (i + t) % 7 else "NOUN" for t, label in enumerate(labels)] for i, labels in enumerate(CLEAN)]


@pytest.mark.parametrize(
    "options",
    [
        dict(algorithm="averaged"),
        dict(algorithm="averaged", threads=2),
        dict(algorithm="averaged", runs=2),
        dict(algorithm="voted"),
        dict(algorithm="pa"),
        dict(algorithm="crf", epochs=8),
        dict(algorithm="crf", optimizer="sgd"),
        dict(algorithm="dual", kernel="poly:2"),
        dict(algorithm="semi"),
        dict(algorithm="semi-crf", epochs=7),
        dict(algorithm="averaged", dev=corpus(20, 9)),
    ],
    ids=str,
)
def test_a_stopped_run_goes_on(options, tmp_path):
    options = {"epochs": 6, **options}
    data = (SPANS[:20], TAGS[:20]) if options["algorithm"].startswith("semi") else (X, Y)
    whole = kbest.train(*data, **options)
    kept = tmp_path / "run.checkpoint"
    kbest.train(*data, **{**options, "epochs": 3}, checkpoint=kept)
    seen = []
    resumed = kbest.train(*data, **options, checkpoint=kept, resume=True, callback=lambda e: seen.append(e.epoch))
    assert resumed.to_bytes() == whole.to_bytes()
    assert "dev" in options or seen[:1] == [4] or options["algorithm"].startswith("semi")
    # A finished run has nothing left to do.
    again = kbest.train(*data, **options, checkpoint=kept, resume=True, callback=lambda e: pytest.fail("an epoch"))
    assert again.to_bytes() == whole.to_bytes()


def test_a_raised_exception_loses_one_pass_at_most(tmp_path):
    kept = tmp_path / "run"

    def fail(epoch):
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kbest.train(X, Y, epochs=5, checkpoint=kept, callback=fail)
    seen = []
    resumed = kbest.train(X, Y, epochs=5, checkpoint=kept, resume=True, callback=lambda e: seen.append(e.epoch))
    assert seen[0] == 3 and resumed.to_bytes() == kbest.train(X, Y, epochs=5).to_bytes()


def test_the_tagger_is_checked_before_training():
    """Hours of training are not for nothing because of a name."""
    for data, options in [((X, Y), {}), ((X, Y), dict(algorithm="crf")), ((SPANS, TAGS), dict(algorithm="semi"))]:
        for mistake in [dict(constraints="nosuch"), dict(tag_decoder="nosuch"), dict(constraints=["auto", "nosuch"])]:
            with pytest.raises((errors.KbestError, OSError)):
                kbest.train(*data, **options, **mistake, callback=lambda epoch: pytest.fail("an epoch"))
    assert kbest.train(X, Y, epochs=1, tag_decoder="viterbi").decoder == "viterbi"


def test_mistakes(tmp_path):
    kept = tmp_path / "run"
    with pytest.raises(errors.ArgumentError) as caught:
        kbest.train(X, Y, resume=True)
    assert caught.value.argument == "resume"
    with pytest.raises(errors.ArgumentError) as caught:
        kbest.train(X, algorithm="baum-welch", states=2, checkpoint=kept)
    assert caught.value.argument == "checkpoint"
    kbest.train(X, Y, epochs=1, checkpoint=kept, resume=True)  # nothing to resume from: begins
    with pytest.raises(errors.DataError, match="other data or options"):
        kbest.train(X, Y, epochs=2, seed=2, checkpoint=kept, resume=True)
    with pytest.raises(errors.DataError, match="other data or options"):
        kbest.train(X[1:], Y[1:], epochs=2, checkpoint=kept, resume=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"], "nothing else is left behind"
    kept.write_bytes(kept.read_bytes()[:-3])
    with pytest.raises(errors.DataError, match="checkpoint"):
        kbest.train(X, Y, epochs=2, checkpoint=kept, resume=True)
    kept.write_bytes(b"hello")
    with pytest.raises(errors.KbestError):
        kbest.train(X, Y, epochs=2, checkpoint=kept, resume=True)
    with pytest.raises(OSError):
        kbest.train(X, Y, epochs=1, checkpoint=tmp_path / "nosuch" / "run")

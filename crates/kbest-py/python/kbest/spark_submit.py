"""A script for spark-submit: tag, evaluate and train on files that Spark reads.

    spark-submit --master local[2] spark_submit.py tag sentences.parquet -m model.kbest -o tagged.parquet
    spark-submit ... spark_submit.py evaluate test.parquet -m model.kbest
    spark-submit ... spark_submit.py train train.parquet -m model.kbest --epochs 10 --checkpoint train.checkpoint --resume

`python -m kbest.spark_submit --where` prints where this file is. The report is what goes to stdout (how many rows were tagged, the
figures of an evaluation, what was written); everything else goes to stderr. Exit code 2 means bad input or usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List, Optional

import kbest


def _arguments(given: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="spark_submit.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--where", action="version", version=__file__, help="print where this file is, for spark-submit")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, about: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=about, description=about)
        one.add_argument("data", nargs="+", help="files or folders that Spark reads")
        one.add_argument("-m", "--model", required=True, help="the model; a file of the driver")
        one.add_argument("--format", help="parquet, json, orc, ... [default: by the name's ending, else parquet]")
        one.add_argument("--tokens", default="tokens", help="column of tokens; several with commas [default: tokens]")
        return one

    tag = command("tag", "Tag rows of tokens and write them with their labels")
    tag.add_argument("-o", "--output", required=True, help="folder to write; must not exist")
    tag.add_argument("-k", type=int, default=1, help="how many label sequences [default: 1]")
    tag.add_argument("--marginals", action="store_true", help="add the probability of each label")
    tag.add_argument("--constraints", action="append", help="a scheme, auto, or a transition file; may be repeated")
    evaluate = command("evaluate", "Compare a model's labels with the right ones")
    evaluate.add_argument("--labels", default="labels", help="column of right labels [default: labels]")
    evaluate.add_argument("--constraints", action="append", help="a scheme, auto, or a transition file; may be repeated")
    train = command("train", "Learn from rows of tokens and labels")
    train.add_argument("--labels", default="labels", help="column of labels [default: labels]")
    train.add_argument("--id", default="id", help="column of ids, all different [default: id]")
    train.add_argument("--shards", type=int, default=16, help="parts that learn apart; decides the result [default: 16]")
    train.add_argument("--checkpoint", help="file of the driver, replaced after each pass")
    train.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    for option in kbest.options("shards"):
        _add_option(train, option)
    return parser.parse_args(given)


#: How the values of options are read that are not strings.
_TYPES = {"a whole number": int, "a number": float}


def _add_option(command: argparse.ArgumentParser, option: Dict[str, Any]) -> None:
    """An option of training, as the library describes it."""
    default = f" [default: {option['default_text']}]" if option["default_text"] else ""
    how: Dict[str, Any] = {"default": None, "help": (option["help"] + default).replace("%", "%%")}
    if option["type"] == "true or false":
        how["action"] = "store_true"
    elif "list" in option["type"]:
        how["action"] = "append"
    else:
        how["type"] = _TYPES.get(option["type"], str)
    command.add_argument(f"--{option['name'].replace('_', '-')}", **how)


def _read(spark: Any, arguments: argparse.Namespace) -> Any:
    ending = arguments.data[0].rstrip("/").rsplit(".", 1)[-1]
    guessed = {"jsonl": "json", "json": "json", "orc": "orc"}.get(ending, "parquet")
    return spark.read.format(arguments.format or guessed).load(arguments.data)


def main(given: Optional[List[str]] = None) -> None:
    arguments = _arguments(given)
    from pyspark.errors import AnalysisException
    from pyspark.sql import SparkSession

    import kbest.spark

    spark = SparkSession.builder.appName("kbest").getOrCreate()
    tokens = arguments.tokens.split(",")
    try:
        df = _read(spark, arguments)
        if arguments.command == "tag":
            constraints = arguments.constraints
            tagged = kbest.spark.tag(df, arguments.model, tokens, arguments.k, arguments.marginals, constraints)
            tagged.write.parquet(arguments.output)
            counted = spark.read.parquet(arguments.output).selectExpr("count(*) as rows", "count(error) as errors").first()
            print(f"wrote {arguments.output}: {counted.rows} rows, {counted.errors} of them with an error instead of labels")
        elif arguments.command == "evaluate":
            constraints = arguments.constraints
            print(kbest.spark.evaluate(df, arguments.model, tokens, arguments.labels, constraints))
        else:
            names = ["id", "labels", "shards", "checkpoint", "resume", *(option["name"] for option in kbest.options("shards"))]
            options = {name: value for name in names if (value := getattr(arguments, name)) is not None}

            def tell(epoch: kbest.Epoch) -> None:
                print(f"epoch {epoch.epoch}: loss {epoch.loss:.6g}, {epoch.seconds:.1f} s", file=sys.stderr)

            tagger = kbest.spark.train(df, tokens=tokens, callback=tell, **options)
            tagger.save(arguments.model)
            print(f"wrote {arguments.model}: {len(tagger.labels)} labels")
    except (kbest.KbestError, AnalysisException, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

//! The worked example of `docs/decoders/funnel.md`, phase by phase: three paths of a lattice with four labels.

use super::*;
use crate::decode::counters::Uncounted;
use crate::lattice::{Edges, with_edges};
use graph::{END, Graph};

const NAMES: [char; 4] = ['A', 'B', 'C', 'D'];

/// Scores are whole numbers, so rounding removes what a slack has added.
fn whole(score: f32) -> f32 {
    if score.is_finite() { score.round() } else { score }
}

/// A node as the page names it: `B1` is label B at position 1.
fn name(graph: &Graph<f32>, node: u32) -> String {
    if node == END {
        return "end".into();
    }
    match graph.nodes.get(node as usize) {
        Some(node) => format!("{}{}", NAMES[node.label as usize], node.t),
        None => "none".into(),
    }
}

#[test]
fn the_page_tells_what_happens() {
    #[rustfmt::skip]
    let edges = Edges::dense(4, vec![
        0.0f32, 2.0, 0.0,  0.0, // A
        0.0,    0.0, 1.0,  0.0, // B
        0.0,    0.0, 0.0, -4.0, // C
        3.0,    0.0, 0.0,  0.0, // D
    ])
    .unwrap();
    #[rustfmt::skip]
    let nodes = vec![
         5.0, 3.0, 1.0,  3.0,
        -3.0, 1.0, 6.0, -2.0,
         0.0, 1.0, 0.0,  6.0,
    ];
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let (k, mut memory) = (3, search::Memory::default());
    let Memory { margin: mut margin_memory, mut kept, mut deviations, .. } = Memory::default();
    let lattice = &lattice;
    with_edges!(lattice, |edges| {
        let (memory, tally) = (&mut memory, &mut Uncounted);
        let mut search = Search { lattice, edges, memory, tally, budget: Budget::UNLIMITED, ways_back: true };
        search.run().unwrap();
        search.find_best_path(&mut kept.best_path);
        let layers = &search.memory.layers;
        let bounds = [0, 1, 2].map(|t| (layers.layer(t).floor, layers.layer(t).rest));
        assert_eq!(bounds, [(5.0, 3.0), (7.0, 3.0), (14.0, 12.0)], "floors and rests");

        // 1 margin
        let slack = search.slack(&kept.best_path);
        let margin = search
            .margin_for(k, &kept.best_path, slack, &mut margin_memory, &mut kept.hits)
            .unwrap()
            .unwrap();
        let margin::Memory { likely_losses, losses, .. } = &margin_memory;
        assert_eq!(likely_losses[..], [(2.0, 2), (4.0, 0), (5.0, 1)]);
        let changes = losses.open_changes.iter().map(|change| (change.t, change.loss));
        assert_eq!(changes.collect::<Vec<_>>(), [(0, 4.0), (1, 1.0)], "D0 and C1");
        assert_eq!(losses.limit, 4.0, "the second of these");
        let hits_at = |t| {
            let (hits, _) = kept.hits.at(t);
            let open = |hit: &&hit_loops::Hit<f32>| !hit.score.is_infinite();
            hits.iter().filter(open).map(|hit| (NAMES[hit.label as usize], hit.loss)).collect::<Vec<_>>()
        };
        assert_eq!(hits_at(2), [('A', 3.0), ('B', 2.0), ('C', 3.0)]);
        assert_eq!(hits_at(0), [('B', 4.0)]);
        assert_eq!(hits_at(1), [], "floor and rest leave none");
        assert_eq!(whole(margin), 2.0);
        let hidden = slack.within(margin);
        assert_eq!(kept.hits.cover, margin + hidden);

        // 2 keep
        search.keep_within(margin, slack, &mut kept).unwrap();
        kept.graph.finish();
        let graph = &kept.graph;
        let rows: Vec<_> = (0..graph.nodes.len() as u32)
            .map(|n| {
                let node = &graph.nodes[n as usize];
                let ways = graph.ways[node.first as usize..node.past as usize].iter();
                let ways: Vec<_> =
                    ways.map(|way| format!("{} {}", name(graph, way.from), way.loss)).collect();
                (
                    name(graph, n),
                    whole(node.allowance),
                    ways.join(", "),
                    whole(node.gap),
                    name(graph, node.fork),
                )
            })
            .collect();
        let expected = [
            ("end", 2.0, "D2 0, B2 2", 1.0, "end"),
            ("D2", 2.0, "B1 0, C1 1", 1.0, "D2"),
            ("B1", 2.0, "A0 0", f32::INFINITY, "none"),
            ("A0", 2.0, "", f32::INFINITY, "none"),
            ("B2", 0.0, "C1 0", 1.0, "C1"),
            ("C1", 1.0, "A0 0, B0 1", 1.0, "C1"),
            ("B0", 0.0, "", f32::INFINITY, "none"),
        ];
        let expected = expected.map(|(n, allowance, ways, gap, fork)| {
            (n.to_string(), allowance, ways.to_string(), gap, fork.to_string())
        });
        assert_eq!(rows, expected);

        // 3 deviate
        let mut out = Decoded::default();
        assert!(deviations.push_best(
            lattice,
            edges,
            graph,
            k,
            margin + hidden,
            hidden,
            &mut Uncounted,
            &mut out
        ));
        let listed = deviations.listed[1..].iter().map(|path| (path.parent, path.loss));
        assert_eq!(listed.collect::<Vec<_>>(), [(0, 2.0), (0, 1.0), (2, 2.0)], "A C B, A C D, B C D");
        let spelt = |path: &crate::decode::Path<f32>| {
            (path.labels.iter().map(|&y| NAMES[y as usize]).collect::<String>(), path.score)
        };
        let paths: Vec<_> = out.paths.iter().map(spelt).collect();
        assert_eq!(paths, [("ABD".to_string(), 14.0), ("ACD".to_string(), 13.0), ("ACB".to_string(), 12.0)]);
    });
}

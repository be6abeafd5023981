//! What associations used in each window of the share tree (`TreeUsage=window`).

use super::windows::{Windows, WindowsRow};
use super::{hours, wanted, Filter, Lack, Of};
use crate::answers::{association_name, finite};
use crate::model::Model;

/// Those of the associations that are asked for, as far as they have used something in the windows that are told of.
///
/// # Errors
/// Why there is nothing, or nothing is known.
pub(super) fn windows(model: &Model<'_>, filter: &Filter) -> Result<Windows, Lack> {
    let (config, tree) = (&model.config, &model.tree);
    let unknown = |why: &str| Err(Lack::NotKnown(format!("The usage of each window of the share tree is not known: {why}.")));
    let Some(windows) = &tree.windows else {
        let is_ours = config.algorithm == crate::algorithm::Algorithm::Multifactor2;
        return if is_ours && config.settings.is_none() {
            unknown("the settings, or the usage that they need, are not known here")
        } else {
            Err(Lack::None("The share tree does not use windows: set TreeUsage=window.".to_owned()))
        };
    };
    if windows.are_lost() {
        return unknown("the snapshot lacks some of the windows that count at this time");
    }
    if windows.told() == 0 {
        return unknown("the snapshot lacks it. The weighted sum of the windows is in the column WindowUsage of 'multifactor2 tree'");
    }
    let measured = tree.measured(multifactor2_core::books::BookAt::DEFAULT);
    let longest = tree.shape.nodes().map(|node| windows.amounts(node).len()).max().unwrap_or_default().max(1);
    let factors = std::iter::successors(Some(1.0), |factor| Some(factor * windows.decay()));
    let in_hours = |amounts: &[f64]| -> Vec<f64> {
        (0..longest).map(|age| hours(amounts.get(age).copied().unwrap_or_default())).collect()
    };
    let (all, all_counts) = tree.shape.root().map_or((Vec::new(), 0.0), |root| {
        (in_hours(windows.amounts(root)), measured[root.index()])
    });
    let is_asked = wanted(model, filter);
    let mut rows = Vec::new();
    for node in tree.shape.nodes() {
        let (place, counts) = (tree.association(node), measured[node.index()]);
        let has_used = counts > 0.0 || !windows.amounts(node).is_empty();
        if !is_asked[place] || !has_used {
            continue;
        }
        rows.push(WindowsRow {
            kind: "Tree".to_owned(),
            name: association_name(model, place),
            association: Some(model.snapshot.associations[place].id),
            of: Of::All,
            used: in_hours(windows.amounts(node)),
            all: all.clone(),
            counts: hours(counts),
            all_counts: hours(all_counts),
            percent: (all_counts > 0.0).then(|| finite(100.0 * counts / all_counts)),
        });
    }
    Ok(Windows {
        begin: windows.begin_of(0),
        length: windows.length(),
        depth: windows.depth(),
        told: windows.told(),
        factors: factors.take(longest).collect(),
        rows,
    })
}

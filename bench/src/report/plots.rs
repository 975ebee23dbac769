//! The results as plots, in SVG.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figures::WorkloadFigures;
use crate::measure::Measured;
use crate::report::Report;
use crate::table::three_digits;
use crate::way::Way;
use crate::workload::Entities;

const SIZE: (u32, u32) = (960, 520);
const LEGEND: u32 = 240;
const HOLD_MS: u128 = 2;
/// The connections in the plot of all databases.
const CONNECTIONS: u32 = 16;

/// Colours that colour-blind people can tell apart, from Okabe and Ito.
const WAYS: [(Way, RGBColor); 7] = [
    (Way::NoCounter, RGBColor(140, 140, 140)),
    (Way::Ceiling, RGBColor(0, 0, 0)),
    (Way::ThisCrate, RGBColor(0, 114, 178)),
    (Way::RandomSlots, RGBColor(86, 180, 233)),
    (Way::OnConflict, RGBColor(0, 158, 115)),
    (Way::PublishedLayout, RGBColor(230, 159, 0)),
    (Way::OneRow, RGBColor(213, 94, 0)),
];

pub fn draw(report: &Report, folder: &Path) -> Result<()> {
    for measured in &report.databases {
        let file = folder.join(format!("{}.svg", measured.engine.id()));
        transactions(measured, &file).map_err(|error| anyhow!("{error}"))?;
    }
    ratios(&report.databases, &folder.join("ratios.svg")).map_err(|error| anyhow!("{error}"))
}

/// Transactions per second by number of connections, for each way.
fn transactions(measured: &Measured, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<_> = WAYS
        .iter()
        .map(|&(way, colour)| (way, colour, points(measured, way)))
        .filter(|(_, _, points)| !points.is_empty())
        .collect();
    let all_points = || lines.iter().flat_map(|(_, _, points)| points);
    let most = all_points().map(|point| point.0).fold(0.0, f64::max);
    let highest = all_points().map(|point| point.1).fold(1.0, f64::max);

    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
    let mut chart = ChartBuilder::on(&left)
        .caption(
            format!("{}: one entity, {HOLD_MS} ms hold", measured.engine.name()),
            ("sans-serif", 22),
        )
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(
            (1.0..most.max(2.0)).log_scale().base(2.0),
            0.0..highest * 1.05,
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("connections (each a thread)")
        .y_desc("transactions per second")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 16))
        .draw()?;
    for (_, colour, points) in &lines {
        chart.draw_series(LineSeries::new(
            points.iter().copied(),
            colour.stroke_width(3),
        ))?;
        chart.draw_series(
            points
                .iter()
                .map(|&point| Circle::new(point, 4, colour.filled())),
        )?;
    }
    // The legend has the order of the lines' right ends.
    let mut entries: Vec<_> = lines
        .iter()
        .map(|(way, colour, points)| {
            (
                points.last().map_or(0.0, |point| point.1),
                way.name(),
                *colour,
            )
        })
        .collect();
    entries.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (i, (_, name, colour)) in entries.into_iter().enumerate() {
        legend_entry(&right, i as i32, name, colour)?;
    }
    root.present()?;
    Ok(())
}

fn points(measured: &Measured, way: Way) -> Vec<(f64, f64)> {
    held_on_one_entity(measured)
        .filter_map(|figures| {
            let speed = figures.of(way)?.transactions_per_second;
            Some((figures.workload.connections.into(), speed))
        })
        .collect()
}

fn legend_entry(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    row: i32,
    name: &str,
    colour: RGBColor,
) -> Result<(), Box<dyn std::error::Error>> {
    let y = 70 + row * 28;
    area.draw(&PathElement::new([(8, y), (36, y)], colour.stroke_width(3)))?;
    area.draw(&Circle::new((22, y), 4, colour.filled()))?;
    area.draw(&Text::new(name.to_owned(), (44, y - 8), ("sans-serif", 16)))?;
    Ok(())
}

/// Transactions per second as multiples of those with one row, on each database.
fn ratios(databases: &[Measured], file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let bars: Vec<_> = databases
        .iter()
        .filter_map(|measured| Some((measured.engine.name(), ratio(measured)?)))
        .collect();
    let Some(last) = bars.len().checked_sub(1) else {
        return Ok(());
    };
    let highest = bars.iter().map(|bar| bar.1).fold(1.0, f64::max);

    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            format!("This crate compared with one row: one entity, {CONNECTIONS} connections, {HOLD_MS} ms hold"),
            ("sans-serif", 22),
        )
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(72)
        .build_cartesian_2d((0..last).into_segmented(), 0.0..highest * 1.15)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|segment| match segment {
            SegmentValue::CenterOf(i) => bars.get(*i).map_or("", |bar| bar.0).to_owned(),
            _ => String::new(),
        })
        .y_label_formatter(&|y| format!("{y:.0}"))
        .y_desc("transactions per second, as a multiple of one row")
        .label_style(("sans-serif", 16))
        .axis_desc_style(("sans-serif", 16))
        .draw()?;
    let colour = RGBColor(0, 114, 178);
    chart.draw_series(bars.iter().enumerate().map(|(i, bar)| {
        let corners = [
            (SegmentValue::Exact(i), bar.1),
            (SegmentValue::Exact(i + 1), 0.0),
        ];
        let mut rectangle = Rectangle::new(corners, colour.filled());
        rectangle.set_margin(0, 0, 40, 40);
        rectangle
    }))?;
    let style = ("sans-serif", 18)
        .into_text_style(&root)
        .pos(Pos::new(HPos::Center, VPos::Bottom));
    chart.draw_series(bars.iter().enumerate().map(|(i, bar)| {
        Text::new(
            three_digits(bar.1),
            (SegmentValue::CenterOf(i), bar.1),
            style.clone(),
        )
    }))?;
    root.present()?;
    Ok(())
}

fn ratio(measured: &Measured) -> Option<f64> {
    let figures =
        held_on_one_entity(measured).find(|figures| figures.workload.connections == CONNECTIONS)?;
    figures.of(Way::ThisCrate)?.ratio_to_one_row
}

fn held_on_one_entity(measured: &Measured) -> impl Iterator<Item = &WorkloadFigures> {
    measured.workloads.iter().filter(|figures| {
        let workload = figures.workload;
        workload.entities == Entities::One && workload.hold.as_millis() == HOLD_MS
    })
}

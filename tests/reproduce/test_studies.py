"""What is run for each table fits the paper, the recipes and the methods."""

import pytest

from pencil import backbones, methods
from pencil.data import noise
from pencil.recipes import RECIPES
from pencil.reproduce.compare import compare
from pencil.reproduce.facts import FACTS
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.study import Study
from pencil.reproduce.systems import SYSTEMS

EACH = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@EACH
def test_cells_are_the_columns_of_the_paper(study: Study) -> None:
    assert tuple(cell.name for cell in study.cells) == study.paper.cells


@EACH
def test_cells_name_recipes_and_noises_that_exist(study: Study) -> None:
    for cell in study.cells:
        assert cell.recipe in RECIPES
        if cell.noise:
            noise.make(cell.noise, FACTS[study.dataset].num_classes)


def test_rates_are_those_of_the_cells_names() -> None:
    cells = [cell for study in STUDIES.values() for cell in study.cells if cell.noise]
    assert all(float(cell.noise.partition(":")[2]) * 100 == float(cell.name.rpartition("-")[2]) for cell in cells)


def test_asymmetric_noise_is_each_datasets_own() -> None:
    def models(study: str) -> set[str]:
        return {cell.noise.partition(":")[0] for cell in STUDIES[study].cells if cell.name.startswith("asymmetric")}

    assert models("table2") == {"asymmetric_next"}
    assert models("table4") == {"asymmetric_cifar10"}


def test_every_system_is_a_method_with_options_that_it_has() -> None:
    for system in SYSTEMS.values():
        known = methods.kind(system.method).Options.__dataclass_fields__
        assert set(system.options) <= set(known), system


@EACH
def test_every_system_asks_of_the_network_what_that_has(study: Study) -> None:
    for system in study.systems:
        backbones.check(study.backbone, system.network)


def test_labels_can_move_in_the_second_study_of_table_2() -> None:
    anchors = [system.options["anchor"] for system in STUDIES["table2-anchor"].systems]
    assert anchors and max(anchors) <= 1


def test_systems_that_are_told_more_are_marked() -> None:
    marked = {line.system.name for study in STUDIES.values() for line in compare(study, []) if line.starred}
    assert marked == {"forward", "cnn_crf", "joint_optimization_prior"}

"""A lab's notebook has the task, the file to begin with, and a cell that grades what the one above it defines."""

import nbformat
from nbclient import NotebookClient

from scripts.records import ROOT
from scripts.site.pages import labs

LABS = labs.all_labs(ROOT)
SITE = "https://example.org/handbook/"


def test_every_lab_has_a_notebook_beside_its_page(tmp_path):
    (tmp_path / "labs").mkdir()
    labs.write_notebooks(tmp_path, ROOT, SITE)
    found = {path.stem: nbformat.read(path, as_version=4) for path in (tmp_path / "labs").iterdir()}
    assert found.keys() == {lab.name for lab in LABS}
    for lab in LABS:
        notebook = found[lab.name]
        nbformat.validate(notebook)
        task, _, yours, grade = (cell.source for cell in notebook.cells)
        assert task.startswith("# ") and "](../" not in task and "<!--" not in task
        assert yours == (ROOT / labs.CATALOGUE / lab.name.replace("-", "_") / "start.py").read_text().rstrip()
        assert grade.startswith(f'grade("{lab.name}", {lab.functions[0]}={lab.functions[0]}')


def test_a_notebook_grades_what_its_cell_defines():
    (lab,) = (lab for lab in LABS if lab.name == "vector-add")
    notebook = labs.notebook(lab, ROOT, SITE)
    solution = (ROOT / "scripts/labs/catalogue/vector_add/solution.py").read_text()
    notebook.cells += [nbformat.v4.new_code_cell(solution), nbformat.v4.new_code_cell(notebook.cells[-1].source)]
    NotebookClient(notebook, resources={"metadata": {"path": str(ROOT / "tests")}}, timeout=120).execute()
    outputs = ["".join(output.text for output in cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    assert "Lab 4, Vector add: add_kernel is not written yet." in outputs[2]
    assert "Lab 4, Vector add: passed" in outputs[4]

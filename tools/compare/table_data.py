"""The tables of tools/compare/tables.py: of R's packages by the label that their help pages explain, of scikit-learn, made
ones. A table is (names of columns, rows of texts, label's name, whether the label is a number)."""
import csv
import subprocess

import numpy
from sklearn import datasets

R = {  # package: {table: label}; the label is a number where R has one
    "AER": {"CPS1985": "wage", "CPSSW04": "earnings", "CollegeDistance": "score", "DoctorVisits": "visits", "HMDA": "deny",
            "HousePrices": "price", "SmokeBan": "smoker", "TeachingRatings": "eval", "GSS7402": "kids"},
    "MASS": {"crabs": "sp", "nlschools": "lang"},
    "carData": {"Arrests": "released", "BEPS": "vote", "Chile": "vote", "Mroz": "lfp", "SLID": "wages", "Salaries": "salary",
                "TitanicSurvival": "survived", "WVS": "poverty", "Wells": "switch"},
    "dslabs": {"olive": "region"},
    "ggplot2": {"mpg": "hwy"},
    "kernlab": {"income": "INCOME", "musk": "Class", "spam": "type", "ticdata": "CARAVAN"},
    "mlbench": {"BostonHousing": "medv", "BreastCancer": "Class", "DNA": "Class", "Glass": "Type", "HouseVotes84": "Class",
                "Ionosphere": "Class", "LetterRecognition": "lettr", "Ozone": "V4", "PimaIndiansDiabetes": "diabetes",
                "Satellite": "classes", "Sonar": "Class", "Soybean": "Class", "Vehicle": "Class", "Vowel": "Class"},
    "modeldata": {"Chicago": "ridership", "Sacramento": "price", "ad_data": "Class", "ames": "Sale_Price",
                  "attrition": "Attrition", "biomass": "HHV", "car_prices": "Price", "cells": "class",
                  "concrete": "compressive_strength", "credit_data": "Status", "hpc_data": "class", "lending_club": "Class",
                  "mlc_churn": "churn", "penguins": "species", "wa_churn": "churn"},
    "nlme": {"MathAchieve": "MathAch", "bdf": "langPOST"},
}
BROUGHT = {"iris": "load_iris", "wine": "load_wine", "breast_cancer": "load_breast_cancer", "digits": "load_digits",
           "diabetes": "load_diabetes"}
SCRIPT = """library(%(package)s); data(%(table)s); x <- as.data.frame(%(table)s)
x <- x[!is.na(x[["%(label)s"]]), ]; cat(is.numeric(x[["%(label)s"]])); write.csv(x, "%(path)s", row.names = FALSE)"""


def of_r(package, table, label, folder):
    path = folder / f"{table}.r.csv"
    done = subprocess.run(["Rscript", "-e", SCRIPT % {"package": package, "table": table, "label": label, "path": path}],
                          check=True, capture_output=True, text=True)
    names, *rows = csv.reader(path.open())
    return names, rows, label, done.stdout.endswith("TRUE")


def plain(x, y, number):
    names = [f"x{i}" for i in range(len(x[0]))] + ["target"]
    cells = [[v if isinstance(v, str) else f"{v:.7g}" for v in row] for row in x]
    return names, [[*row, f"{v:.7g}" if number else f"c{int(v)}"] for row, v in zip(cells, y)], "target", number


def made():
    """Each of a kind: wide, heavy tails, a skewed or spoilt target, interactions, texts, few rows."""
    rng = numpy.random.default_rng(7)
    normal = rng.standard_normal
    out = {}
    for name, n, kind in (("friedman1", 600, datasets.make_friedman1), ("friedman3", 800, datasets.make_friedman3)):
        out[name] = plain(*kind(n, noise=1 if name == "friedman1" else .2, random_state=1), True)
    out["clusters"] = plain(*datasets.make_classification(1500, 20, n_informative=8, n_classes=4, flip_y=.05, random_state=2), False)
    x = normal((400, 1000))
    out["wide"] = plain(x, x[:, :5].sum(1) + .5 * normal(400) > 0, False)
    x = normal((200, 300))
    out["wide-number"] = plain(x, x[:, :8] @ rng.uniform(1, 2, 8) + normal(200), True)
    x = numpy.exp(1.5 * normal((900, 8)))
    out["heavy-tails"] = plain(x, numpy.log(x) @ rng.uniform(-1, 1, 8) + .5 * normal(900), True)
    x = normal((900, 8))
    signal = x @ rng.uniform(-1, 1, 8) + x[:, 0] * x[:, 1]
    out["skewed-target"] = plain(x, numpy.exp(8 + signal + .3 * normal(900)), True)
    y = signal + .5 * normal(900)
    y[rng.choice(900, 9, False)] *= 1000
    out["spoilt-target"] = plain(x, y, True)
    towns, days = [f"town {i}" for i in range(12)], ["mo", "tu", "we", "th", "fr"]
    t, d, z = rng.integers(0, 12, 1200), rng.integers(0, 5, 1200), normal(1200)
    effect = rng.standard_normal((12, 5))
    out["texts"] = plain([[towns[a], days[b], c] for a, b, c in zip(t, d, z)],
                         effect[t, d] + z * (d < 2) + .3 * normal(1200) > 0, False)
    x = normal((1000, 6))
    out["rare"] = plain(x, x[:, 0] + x[:, 1] * x[:, 2] + .3 * normal(1000) > 2.5, False)
    x = normal((120, 5))
    out["few-rows"] = plain(x, x @ [1, -2, .5, 0, 0] + normal(120), True)
    return out


def sources():
    """Name -> a function of a scratch folder that gives the table."""
    out = {table: lambda folder, p=package, t=table, la=label: of_r(p, t, la, folder)
           for package, tables in R.items() for table, label in tables.items()}
    for name, load in BROUGHT.items():
        out[name] = lambda folder, n=name, f=load: plain(*getattr(datasets, f)(return_X_y=True), n == "diabetes")
    for name, table in made().items():
        out[name] = lambda folder, t=table: t
    return out

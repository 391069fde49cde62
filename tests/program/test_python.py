"""The package vktrain, on a device: see test_python.sh."""
import csv
import ctypes
import importlib.util
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import unittest

import numpy as np

import vktrain
from vktrain import _library, _train

ROOT = os.environ["VKT_TEST_ROOT"]
RECIPE = {"model": [{"linear": 16}, "relu", "linear"], "optim": {"lr": 0.02},
          "train": {"steps": 80, "batch": 16}}


def blobs(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return (rng.normal(size=(n, 4)) + 3 * np.eye(4)[y]).astype(np.float32), y


class Structs(unittest.TestCase):
    def test_structs_are_those_of_the_headers(self):
        rows = []
        for s in _library.STRUCTS:
            rows.append(f'printf("{s._c_name_} %zu\\n", sizeof({s._c_name_}));')
            rows += [f'printf("{s._c_name_}.{f[0]} %zu\\n", offsetof({s._c_name_}, {f[0]}));'
                     for f in s._fields_]
        with open("structs.c", "w") as f:
            f.write("#include <stddef.h>\n#include <stdio.h>\n#include <vktrain/vktrain.h>\n"
                    "int main(void)\n{\n" + "\n".join(rows) + "\n}\n")
        subprocess.run([os.environ["VKT_TEST_CC"], "-I", ROOT + "/include", "structs.c", "-o",
                        "structs"], check=True)
        want = dict(line.split() for line in
                    subprocess.run("./structs", capture_output=True, text=True,
                                   check=True).stdout.splitlines())
        for s in _library.STRUCTS:
            self.assertEqual(ctypes.sizeof(s), int(want[s._c_name_]), s._c_name_)
            for f in s._fields_:
                name = f"{s._c_name_}.{f[0]}"
                self.assertEqual(getattr(s, f[0]).offset, int(want[name]), name)

    def test_stubs_and_version(self):
        self.assertEqual(_library.lib.vkt_version().decode(), vktrain.__version__)
        with open(ROOT + "/tools/python/vktrain/__init__.pyi") as f:
            stub = f.read()
        for name in vktrain.__all__:
            self.assertRegex(stub, rf"\b{name}\b")


class Arrays(unittest.TestCase):
    def test_what_is_not_copied(self):
        for dtype in ("uint8", "int64", "float32", "float64"):
            a = np.ones((3, 2), dtype)
            self.assertIs(_train.as_array(a, "X"), a)

    def test_what_is_converted(self):
        for a, want in ((np.ones((3, 2), ">f4"), "float32"), (np.ones((3, 2), "f2"), "float32"),
                        (np.ones((3, 2), "i4"), "int64"), (np.ones((3, 2), "?"), "uint8"),
                        (np.array([[-1, 127]], "i1"), "int64"),
                        (np.ma.masked_array([1., 2.], mask=False), "float64"),
                        (np.asfortranarray(np.arange(6.).reshape(3, 2)), "float64"),
                        (np.arange(12.).reshape(3, 4)[:, ::2], "float64")):
            got = _train.as_array(a, "X")
            self.assertEqual(got.dtype, np.dtype(want))
            self.assertTrue(got.flags.c_contiguous)
            np.testing.assert_array_equal(got, a)

    def test_what_is_refused(self):
        for a, error, what in ((np.array(["a"]), TypeError, "dtype"),
                               (np.array([1j]), TypeError, "dtype"),
                               (np.zeros((0, 3)), ValueError, "empty"),
                               (np.array([2**63], "u8"), ValueError, "2\\^63"),
                               (np.ma.masked_array([1., 2.], mask=[0, 1]), ValueError,
                                "masked elements, which have no value"),
                               (np.array([[1, 2, 3], [4, "red", 6]], object), TypeError,
                                r"X\[1, 1\] is 'red'.*a number for each"),
                               (np.array([[1., None]], object), TypeError,
                                r"X\[0, 1\] is None.*fill it"),
                               (np.array([[1, 2]], object), TypeError, r"X\.astype\(float\)"),
                               (np.array(["2024-01-31"], "M8[ns]"), TypeError,
                                r"X\[0\] is .*2024-01-31.*timedelta64"),
                               (np.float64(1), ValueError, "0 dimensions")):
            with self.assertRaisesRegex(error, what):
                _train.as_array(a, "X")


class Classes(unittest.TestCase):
    def test_names_that_look_like_numbers(self):
        for names, want in ((["1", "2"], [1, 2]), (["01", "1"], ["01", "1"]),
                            (["a", "1"], ["a", "1"]),
                            (["1", str(2**70)], ["1", str(2**70)]),
                            (["9007199254740992", "9007199254740993"],
                             [9007199254740992, 9007199254740993])):
            self.assertEqual(_train._numbers_if_possible(names).tolist(), want)


class Nulls(unittest.TestCase):
    """C ends a text at a null character: what stands behind it would be lost."""

    def test_they_are_refused(self):
        X, y = blobs(30)
        for call in (lambda: vktrain.train(RECIPE, (X, y), run="a\0b"),
                     lambda: vktrain.Model.load("a\0zzz"),
                     lambda: vktrain.train(RECIPE, (X, y), settings={"optim.lr": "0.1\0"}),
                     lambda: vktrain.train(RECIPE, (X, y), device="cpu\0"),
                     lambda: vktrain.train({**RECIPE, "name": "a\0b"}, (X, y)),
                     lambda: vktrain.train("digits\0", None)):
            with self.assertRaisesRegex(ValueError, "null character"):
                call()
        self.assertFalse(os.path.exists("a"))
        with self.assertRaisesRegex(TypeError, "None, not a path"):
            vktrain.Model.load(None)


class Training(unittest.TestCase):
    def test_numbers_far_from_zero(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(200, 3))
        y = 1e8 + X @ np.array([1., -2., 0.5])
        r = vktrain.train({**RECIPE, "model": ["linear"], "optim": {"lr": 0.1},
                           "data": {"task": "regress"}}, (X, y), run="far")
        # From the run's own weights the mean error is under a tenth; a float32 has steps of 8.
        self.assertTrue(0 < r.valid_mae < 0.5, r.valid_mae)
        with vktrain.Model.load(r.run_dir) as m:
            error = np.abs(m.predict(X) - y)
            self.assertEqual(m.predict(X).dtype, np.float64)
            self.assertLess(error.mean(), 0.5)
            self.assertGreater(error.mean(), 0)

    def test_devices_and_recipes(self):
        self.assertTrue(vktrain.devices()[0].usable)
        self.assertIn("digits", vktrain.recipes())

    def test_train_and_predict(self):
        X, y = blobs()
        seen = []
        r = vktrain.train(RECIPE, (X, y), run="a", callbacks=seen.append)
        self.assertEqual(r.step, 80)
        self.assertEqual([p.step for p in seen if not p.evaluated], list(range(1, 81)))
        self.assertTrue(any(p.evaluated and p.eval_split == "valid" for p in seen))
        with vktrain.Model.load(r.run_dir) as m:
            X2, y2 = blobs(seed=1)
            self.assertGreater((m.predict(X2) == y2).mean(), 0.85)
            p = m.predict_proba(X2)
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
            # Other types of the same numbers, and rows one by one.
            wide = X2.astype(np.float64)
            np.testing.assert_array_equal(m.predict_proba(np.asfortranarray(wide)), p)
            np.testing.assert_array_equal(m.predict_proba(X2[7:8])[0], p[7])
            with self.assertRaisesRegex(vktrain.DataError, r"\[n, 4\]"):
                m.predict(X2[:, :3])
        with self.assertRaisesRegex(ValueError, "closed"):
            m.predict(X2)

    def test_regression_and_pictures(self):
        X, _ = blobs()
        r = vktrain.train({**RECIPE, "data": {"task": "regress"}}, (X, X.sum(axis=1)), run="b")
        self.assertGreater(r.test_r2, 0.7)
        m = vktrain.Model.load("b")
        self.assertEqual(m.task, "regress")
        self.assertEqual(m.predict(X).shape, (120,))
        with self.assertRaisesRegex(ValueError, "no classes"):
            m.predict_proba(X)
        pixels = np.zeros((60, 6, 5), np.uint8)
        pixels[::2, 3:] = 200
        vktrain.train({**RECIPE, "model": ["flatten", "linear"]}, (pixels, np.arange(60) % 2),
                      run="c", settings={"train.steps": 30})
        np.testing.assert_array_equal(vktrain.Model.load("c").predict(pixels), np.arange(60) % 2)

    def said_by_the_program(self, run, table):
        """What `vktrain predict` says of a table's rows, by column."""
        out = subprocess.run([os.environ["VKT_TEST_PROGRAM"], "predict", run, table, "--json"],
                             capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in out.splitlines()]

    def test_labels_thresholds_and_several_numbers(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(300, 3)).astype(np.float32)
        has = np.stack([X[:, 0] > 0.4, X[:, 1] > -0.3, X[:, 2] + X[:, 0] > 1], axis=1)
        rows = {"labels": ["|".join(np.array(["a", "b", "c"])[h]) for h in has],
                "two": ["yes" if h else "no" for h in X[:, 0] + rng.normal(size=300) > 1],
                "u": 2 * X[:, 0], "v": X[:, 1] - X[:, 2]}

        def trained(task, columns, **more):
            with open(f"{task}.csv", "w") as f:
                print("p,q,r", *columns, sep=",", file=f)
                for i in range(300):
                    print(*X[i], *(rows[c][i] for c in columns), sep=",", file=f)
            vktrain.train({**RECIPE, "data": {"source": "csv", "path": f"{task}.csv", "task": task,
                                              "label": columns, "valid_fraction": 0.5}, **more},
                          run=task)
            return vktrain.Model.load(task), self.said_by_the_program(task, f"{task}.csv")

        m, said = trained("multilabel", ["labels"])
        self.assertEqual((m.task, list(m.classes)), ("multilabel", ["a", "b", "c"]))
        got = m.predict(X)
        self.assertEqual((got.shape, got.dtype), ((300, 3), np.bool_))
        self.assertEqual([[str(c) for c in m.classes[g]] for g in got],
                         [sorted(s["predicted"]) for s in said])
        m, said = trained("classify", ["two"], calibration={"threshold": "cost", "miss_cost": 5})
        self.assertEqual(list(m.predict(X)), [s["predicted"] for s in said])
        self.assertTrue((m.predict(X) != m.classes[m.predict_proba(X).argmax(axis=1)]).any())
        m, said = trained("regress", ["u", "v"])
        self.assertEqual(m.predict(X).shape, (300, 2))
        np.testing.assert_allclose(m.predict(X), [[s["predicted"][k] for k in "uv"] for s in said], rtol=1e-3, atol=1e-3)

    def test_several_threads_use_one_model(self):
        X, y = blobs()
        vktrain.train(RECIPE, (X, y), run="threads", settings={"train.steps": 20})
        m = vktrain.Model.load("threads")
        want, wrong = m.predict_proba(X), []

        def work():
            for _ in range(60):
                if not np.array_equal(m.predict_proba(X), want):
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        m.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            m._said(want)

    def test_tables_by_their_names(self):
        rng = np.random.default_rng(5)
        colours = np.array(["red", "dark, \"blue\"", "green"])
        rows = [{"size": round(float(v), 3), "colour": str(colours[k]), "kept": int(k % 2)}
                for v, k in zip(rng.normal(size=200), rng.integers(0, 3, 200))]
        for r in rows:
            r["y"] = "yes" if r["size"] + (r["colour"] == "red") > 0.5 else "no"
        with open("colours.csv", "w", newline="") as f:
            out = csv.DictWriter(f, rows[0])
            out.writeheader()
            out.writerows(rows)
        vktrain.train({**RECIPE, "data": {"source": "csv", "path": "colours.csv"}}, run="colours")
        m = vktrain.Model.load("colours")
        want = [s["predicted"] for s in self.said_by_the_program("colours", "colours.csv")]
        inputs = [{k: r[k] for k in ("colour", "kept", "size")} for r in rows]  # another order
        self.assertEqual(list(m.predict(inputs)), want)
        self.assertEqual(list(m.predict(rows)), want)  # with the label
        named = np.array([(r["kept"], r["colour"], r["size"]) for r in rows],
                         [("kept", "i4"), ("colour", "U20"), ("size", "f8")])
        self.assertEqual(list(m.predict(named)), want)

        class Frame:  # what of a DataFrame is used
            columns = ["size", "kept", "colour"]

            def __getitem__(self, name):
                return np.array([r[name] for r in rows], object if name == "colour" else None)
        self.assertEqual(list(m.predict(Frame())), want)
        try:
            import pandas
        except ImportError:
            pass
        else:
            self.assertEqual(list(m.predict(pandas.DataFrame(rows))), want)
        with self.assertRaisesRegex(vktrain.DataError, "colour"):
            m.predict([{"size": 1, "kept": 0}])
        with self.assertRaisesRegex(TypeError, "column 'size' has a list"):
            m.predict([{"size": [1], "kept": 0, "colour": "red"}])
        with self.assertRaisesRegex(ValueError, "infinite"):
            m.predict([{"size": np.inf, "kept": 0, "colour": "red"}])
        with self.assertRaisesRegex(TypeError, "give a list of them"):
            m.predict(inputs[0])
        X, y = blobs()
        vktrain.train(RECIPE, (X, y), run="unnamed", settings={"train.steps": 5})
        with self.assertRaisesRegex(ValueError, "columns without names"):
            vktrain.Model.load("unnamed").predict([{"a": 1}])
        with self.assertRaisesRegex(TypeError, "run is None"):
            vktrain.Model.load(None)

    def test_missing_values_and_dates(self):
        X, y = blobs()
        vktrain.train(RECIPE, (X, y), run="gaps", settings={"train.steps": 5})
        m = vktrain.Model.load("gaps")
        X = np.array(X[:4], float)
        X[3, 1] = np.nan
        with self.assertRaisesRegex(vktrain.DataError, r"X\[3, 1\] is NaN.*without missing") as e:
            m.predict(X)
        self.assertNotIn("set data.missing", str(e.exception))

        class Frame:
            columns = ["size", "colour"]

            def __array__(self, dtype=None):
                return np.array([[1, "red"]], object)

            def __getitem__(self, name):
                raise AssertionError
        with self.assertRaisesRegex(TypeError, r"X\[0, 1\] \(column 'colour'\) is 'red'"):
            m.predict(Frame())
        days = np.array(["2024-01-31T06:00", "2024-11-05T18:30"] * 30, "M8[ns]")
        for i, form in enumerate(("%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%Y-%m-%d %H:%M")):
            texts = [d.astype("M8[s]").item().strftime(form) for d in days]
            with open("days.csv", "w") as f:
                f.write("day,y\n" + "".join(f"{t},{'ab'[k % 2]}\n" for k, t in enumerate(texts)))
            vktrain.train({**RECIPE, "data": {"source": "csv", "path": "days.csv"}},
                          run=f"days{i}", settings={"train.steps": 20})
            m = vktrain.Model.load(f"days{i}")
            want = m.predict_proba([{"day": t} for t in texts])

            class Days:
                columns = ["day"]

                def __getitem__(self, name):
                    return days
            np.testing.assert_array_equal(m.predict_proba(Days()), want)
            np.testing.assert_array_equal(
                m.predict_proba([{"day": d.astype("M8[s]").item()} for d in days]), want)
            with self.assertRaisesRegex(vktrain.DataError, "no value in column 'day'"):
                m.predict([{"day": np.datetime64("NaT")}])

    def test_errors_carry_the_line(self):
        X, y = blobs()
        with self.assertRaisesRegex(vktrain.RecipeError, "did you mean 'linear'") as e:
            vktrain.train({"model": [{"linaer": 3}]}, (X, y))
        self.assertEqual(e.exception.status, "bad argument")
        self.assertIsInstance(e.exception, ValueError)
        with self.assertRaisesRegex(vktrain.RecipeError, "data.task: regress"):
            vktrain.train(RECIPE, (X, X[:, 0]), run="d")
        with self.assertRaisesRegex(vktrain.DataError, "120 examples"):
            vktrain.train(RECIPE, (X, y[:7]), run="d")
        with self.assertRaisesRegex(vktrain.VktrainError, "nowhere"):
            vktrain.Model.load("nowhere")
        with self.assertRaises(vktrain.NoDeviceError):
            vktrain.train(RECIPE, (X, y), run="d", device="no such device")
        with self.assertRaisesRegex(TypeError, "pair"):
            vktrain.train(RECIPE, X[:3])
        with self.assertRaisesRegex(TypeError, "JSON"):
            vktrain.train({"model": [object()]}, (X, y))

    def test_a_callback_stops_or_fails(self):
        X, y = blobs()
        r = vktrain.train(RECIPE, (X, y), run="e", settings={"train.steps": 100000},
                          callbacks=lambda p: p.step >= 20)
        self.assertTrue(r.stopped)
        self.assertLess(r.step, 100000)

        def fails(p):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            vktrain.train(RECIPE, (X, y), run="f", settings={"train.steps": 100000},
                          callbacks=fails)

    def test_ctrl_c_and_resume(self):
        X, y = blobs()
        more = {"train.steps": 1000000, "eval.every": 500000}
        begun = threading.Event()

        def press():
            begun.wait()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        with self.assertRaises(KeyboardInterrupt):
            vktrain.train(RECIPE, (X, y), run="g", settings=more,
                          callbacks=lambda p: begun.set())
        step = int(sorted(os.listdir("g/checkpoints"))[-1].split("-")[1])
        self.assertGreater(step, 0)
        seen = []

        def first(p):
            seen.append(p.step)
            return True
        vktrain.train(RECIPE, (X, y), run="g", resume=True, settings=more, callbacks=first)
        self.assertEqual(seen[0], step + 1)


@unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn is not there")
class Estimators(unittest.TestCase):
    def test_a_classifier_predicts_by_its_threshold(self):
        X, names = self.scored()
        c = vktrain.VktrainClassifier(random_state=0, steps=100, validation_fraction=0.4,
                                      settings={"calibration.threshold": "cost", "calibration.miss_cost": 5})
        got, proba = c.fit(X, names).predict(X), c.predict_proba(X)
        self.assertEqual(set(got), {"no", "yes"})
        at = proba[got == "yes", 1].min()
        self.assertLess(at, 0.5)  # missing a "yes" costs more
        self.assertLess(proba[got == "no", 1].max(), at)

    @staticmethod
    def scored():
        rng = np.random.default_rng(3)
        X = rng.normal(size=(300, 3)).astype(np.float32)
        return X, np.where(X[:, 0] + rng.normal(size=300) > 1, "yes", "no")

    def test_digits_names_and_copies(self):
        from sklearn.datasets import load_digits
        X, y = load_digits(return_X_y=True)
        names = np.array([f"digit {d}" for d in y])
        c = vktrain.VktrainClassifier(random_state=0, validation_fraction=0.1)
        c.fit(X[:1200], names[:1200])
        self.assertGreater(c.score(X[1200:], names[1200:]), 0.9)
        again = pickle.loads(pickle.dumps(c))
        np.testing.assert_array_equal(again.predict_proba(X[:50]), c.predict_proba(X[:50]))
        with self.assertRaisesRegex(ValueError, "holds out no sample"):
            vktrain.VktrainClassifier(validation_fraction=0.01).fit(X[:20], names[:20])

    def test_masked_elements(self):
        whole, y = np.arange(40.).reshape(20, 2), np.arange(20) % 2
        masked, masked_y = np.ma.masked_array(whole, mask=whole == 3), np.ma.masked_array(y, mask=y == 1)
        for estimator in (vktrain.VktrainClassifier(), vktrain.VktrainRegressor()):
            with self.assertRaisesRegex(ValueError, "X is a masked array"):
                estimator.fit(masked, y)
            with self.assertRaisesRegex(ValueError, "y is a masked array"):
                estimator.fit(whole, masked_y)

    def test_check_estimator(self):
        from sklearn.utils.estimator_checks import check_estimator
        full = os.environ.get("VKT_TEST_SKLEARN") == "full"
        sample = ("check_no_attributes_set_in_init", "check_get_params_invariance",
                  "check_dict_unchanged", "check_fit1d", "check_classifiers_one_label",
                  "check_estimators_unfitted", "check_n_features_in_after_fitting",
                  "check_estimators_nan_inf", "check_fit2d_1sample")
        for estimator in (vktrain.VktrainClassifier(), vktrain.VktrainRegressor()):
            for one, check in check_estimator(estimator, generate_only=True):
                name = check.func.__name__
                if not full and name not in sample:
                    continue
                with self.subTest(check=name, estimator=type(one).__name__):
                    check(one)


if __name__ == "__main__":
    if not importlib.util.find_spec("sklearn"):
        print("test_python: scikit-learn's part is left out (python3-sklearn, Debian's name)")
    logging.getLogger("vktrain").setLevel(logging.ERROR)
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)

"""A model as a user writes it: each of its methods fails somewhere else, over lines that no program would write so."""
# fmt: off

from __future__ import annotations


class Model:
    def layer(self, x, *more):
        if x == "bad":
            raise ValueError(x)
        return x

    def other(self, x=0):
        return x

    def forward(self, x,
                scale=2):
        """Branches, some of which are not taken."""
        total = 0
        for each in (x, 1):
            if self.layer(each) == 1:
                total += self.other(
                    scale
                )
            elif each:
                total -= self.other(1)
            else:
                total = None
        return total if total else self.layer(0)

    def in_the_call(self):
        return self.other(1) + self.layer("bad", self.other(1),
                                          2)

    def beside_the_call(self):
        x = (self.other("text")

             + self.layer(1))
        return x

    def in_a_chain(self):
        return (self.other("a-b")
                .upper()
                .split("-")
                .index("c"))

    def in_an_argument(self):
        return self.other(self.layer(1 / self.other(0)))

    def in_a_lambda(self):
        divide = [lambda x: x,
                  lambda x: 1 / self.layer(x)]
        return divide[1](self.other(
            0))

    def in_a_comprehension(self):
        return {key: self.layer(1) / value
                for key, value in
                [("a", self.other(0))]}

    def in_a_generator(self):
        return list(self.layer(
            1 / each) for each in range(
                self.other(1)))

    def in_nested_code(self):
        # a comment, which is not in the generated text
        def inner(x):

            class Local:
                y = self.layer(x)[5]

            return Local
        return inner("abc")

    def in_a_handler(self):
        try:
            self.layer("bad")
        except ValueError as error:
            with open(self.other(__file__)):
                raise KeyError(self.other(1)) from error
        finally:
            self.other(2)

    def in_a_finally(self):
        try:
            self.layer("bad")
        finally:
            (1 +
             self.layer(None))

    def in_a_decorator(self):
        @self.layer
        @self.other(None)
        def inner(): pass

    def in_an_fstring(self):
        return f"{self.layer(1)} and {self.layer('bad')!r:>10}"


FAILING = [name for name in vars(Model) if name.startswith(("in_", "beside_"))]

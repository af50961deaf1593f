"""One function a shape of protected code; tests/report shows each of them on each version."""


def one_with(path):
    with open(path) as file:
        return file.read()


def nested_with(a, b):
    with a as x, b:
        x.run()
    return x


def try_except_else(d):
    try:
        value = d["k"]
    except KeyError:
        value = None
    else:
        value += 1
    return value


def except_as(run):
    try:
        run()
    except (OSError, ValueError) as error:
        print(error)


def bare(run):
    try:
        run()
    except:
        print("no")


def star(run):
    try:
        run()
    except* OSError as group:
        print(group)
    except* ValueError:
        pass


def finally_in_loop(items):
    for item in items:
        try:
            if item.done:
                return item
            item.run()
        finally:
            item.close()


def try_in_handler(run):
    try:
        run()
    except OSError:
        try:
            run(1)
        except ValueError:
            run(2)


async def async_with_and_for(manager):
    async with manager as found:
        async for each in found:
            print(each)


def generator(items):
    try:
        yield from items
    finally:
        items.close()


def comprehension(items):
    try:
        return [item.name for item in items if item]
    except AttributeError:
        return []


def class_body():
    class Inner:
        try:
            import fast
        except ImportError:
            fast = None

    return Inner


def deep(run):
    try:
        try:
            try:
                try:
                    try:
                        try:
                            try:
                                run()
                            except ZeroDivisionError:
                                pass
                        except OSError:
                            pass
                    except ValueError:
                        pass
                except KeyError:
                    pass
            except TypeError:
                pass
        except NameError:
            pass
    finally:
        run()


def with_in_try_in_loop(paths):
    found = []
    while paths:
        try:
            with open(paths.pop()) as file:
                found.append(file.read())
        except OSError:
            continue
    return found

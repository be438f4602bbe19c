"""The menus of a figure, used as the page's script uses them."""


def menus(figure):
    """name -> (its labels, the one that is shown first)"""
    by_name = {}
    for menu in figure.layout.updatemenus:
        labels = [choice.label for choice in menu.buttons]
        by_name[menu.name] = labels, labels[menu.active or 0]
    return by_name


def choose(figure, name, label):
    """Change the figure as Plotly's restyle, update and relayout do: a list gives one value to each trace."""
    (menu,) = [each for each in figure.layout.updatemenus if each.name == name]
    (choice,) = [button for button in menu.buttons if button.label == label]
    arguments = list(choice.args)
    attributes = {} if choice.method == "relayout" else arguments.pop(0)
    layout = {} if choice.method == "restyle" else arguments.pop(0)
    traces = arguments.pop() if arguments else range(len(figure.data))
    for attribute, values in attributes.items():
        for trace, value in zip(traces, values, strict=True):
            figure.data[trace][attribute] = value
    for attribute, value in layout.items():
        figure.layout[attribute] = value


def visible(figure):
    return [trace for trace in figure.data if trace.visible is not False]


def points(trace):
    """x -> y"""
    return dict(zip(trace.x, trace.y, strict=True))

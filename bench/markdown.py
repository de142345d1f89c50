"""What the pages of docs/results are made of."""


def table(heading, rows):
    print("| " + " | ".join(heading) + " |")
    print("|---" * len(heading) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()

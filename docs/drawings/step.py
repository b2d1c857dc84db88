"""step.svg: what the daemon's one owner thread does in a step, and which threads and processes work for it."""
from svg import LINE, SOFT, arrow, box, card, page, words

BLUE, GREEN, RED, YELLOW = ("#eaf1fb", "#4a63c4"), ("#eaf5e4", "#5b9a3c"), ("#fbe9e7", "#c0452f"), ("#fff8e1", "#d9a514")
STAGES = [
    ("1  Gather", ["ends of jobs, ends of GPU operations, readings of", "energy and memory, requests of users; what happened",
                   "is told to LiveFleet"], BLUE),
    ("2  Admit", ["which waiting jobs the policy sees, and with which", "deadline: users' shares, caps, dependencies"], BLUE),
    ("3  Decide", ["the loop: event by event the policy writes plans;", "caps, overtaking and guard surround it"], GREEN),
    ("4  Write down", ["job rows and journal lines in one transaction,", "flushed to disk. If that fails, step 5 is skipped"], RED),
    ("5  Do", ["start, stop, create, destroy: handed to the workers", "on the right, without waiting"], BLUE),
    ("6  Answer", ["\"job 12: queued\" is said only now: it is on the disk"], BLUE),
]
LEFT, RIGHT, MIDDLE, WIDE = 60, 850, 390, 380


def step():
    out = words(30, 34, "A step of the daemon: gather, admit, decide, write down, do, answer", 17, bold=True)
    out += box(MIDDLE - 20, 54, WIDE + 40, 706, "#fafbfc", LINE, 10)
    center = MIDDLE + WIDE // 2
    out += words(center, 78, "one thread owns the queue", 13, "middle", color=SOFT)
    y, edges = 92, []
    for title, below, (fill, edge) in STAGES:
        height = 46 + 18 * len(below)
        out += card(MIDDLE, y, WIDE, height, title, below, fill, edge, 12)
        edges.append((y, y + height))
        y += height + 26
    for (_, bottom), (top, _) in zip(edges, edges[1:]):
        out += arrow((center, bottom), (center, top))
    out += words(center, y + 2, "then it sleeps until something is due or a request comes", 12, "middle", color=SOFT)
    mid = [(top + bottom) // 2 for top, bottom in edges]

    for stage, title, below in ((0, "HTTP threads", ["take requests of verbs (submit,", "queue, why, ...), of curl and others"]),
                                (2, "Futures", ["copies of the belief run on in the", "simulator: eta, whatif, the guard"]),
                                (3, "queue.db", ["SQLite: rows are the state, the", "journal is the history"])):
        out += card(LEFT, mid[stage] - 42, 240, 84, title, below, size=12)
    between = (LEFT + 240 + MIDDLE) // 2 - 8
    out += arrow((LEFT + 240, mid[0]), (MIDDLE, mid[0])) + words(between, mid[0] - 8, "request", 12, "middle")
    out += arrow((MIDDLE, mid[2]), (LEFT + 240, mid[2])) + words(between, mid[2] - 8, "copy", 12, "middle")
    out += arrow((MIDDLE, mid[3]), (LEFT + 240, mid[3])) + words(between, mid[3] - 8, "commit", 12, "middle")
    out += arrow((MIDDLE, mid[5]), (30, mid[5]), (30, mid[0]), (LEFT, mid[0])) + words(LEFT, mid[5] - 8, "answer", 12)

    top, out_x = mid[1] - 34, RIGHT + 135
    out += card(RIGHT, top, 270, 104, "Supervisors", ["one small process above each job;", "it outlives the daemon and records",
                                                       "how the job ended"], size=12)
    out += card(RIGHT, top + 124, 270, 104, "GPU lanes", ["one thread for each GPU: creates", "and destroys instances, reads", "energy; a slow GPU stops no other"],
                size=12)
    out += arrow((out_x, top), (out_x, mid[0]), (MIDDLE + WIDE, mid[0]))
    out += words(out_x - 8, mid[0] - 8, "exits, results, readings", 12, "end")
    out += arrow((MIDDLE + WIDE, mid[4]), (out_x, mid[4]), (out_x, top + 228))
    out += words(out_x - 8, mid[4] - 8, "starts, stops, changes", 12, "end")
    out += card(RIGHT, mid[4] + 24, 270, 124, "If it is killed", ["Before 4: nothing was done, nobody", "was told anything. After 4: rows say",
                                                                    "what was meant, locks say what runs,", "and the next start goes on from there"],
                *YELLOW, size=12)
    return page(1150, 780, "A step of the daemon", out)

"""loop.svg: events, belief, policy, plan: the one loop of simulator, trainer and daemon."""
from svg import SOFT, arrow, card, page, words

WORLD, BELIEF, POLICY = ("#fdf3e3", "#d9822b"), ("#eaf1fb", "#4a63c4"), ("#eaf5e4", "#5b9a3c")


def said(x, y, text):
    return words(x, y, text, 13, "middle", bold=True)


def loop():
    out = words(30, 34, "The loop: the world emits events, a policy answers with a plan, the world carries it out", 17, bold=True)
    out += card(30, 60, 250, 108, "Fleet: the world", ["returns its next event: a job came", "or ended, a slice was created or", "gone"], *WORLD)
    out += arrow((280, 114), (400, 114)) + said(340, 104, "event")
    out += card(400, 60, 250, 108, "Cluster: the belief", ["layouts, running jobs, progress,", "watts and joules: the sum of all", "events so far, and nothing else"],
                *BELIEF)
    out += arrow((650, 114), (770, 114)) + said(710, 104, "is seen by")
    out += card(770, 60, 250, 108, "Policy: decides", ["pure: no clock, files or hardware.", "static+cedf, planner, batch, or", "your own"], *POLICY)
    out += arrow((895, 168), (895, 240)) + words(907, 209, "writes", 13, bold=True)
    out += card(770, 240, 250, 108, "Plan", ["stops, then reshapes, then starts:", "only what is to change"], "#ffffff", POLICY[1])
    out += arrow((770, 294), (650, 294)) + said(710, 284, "is judged")
    out += card(400, 240, 250, 108, "Cluster: the judge", ["of each action alone. An illegal", "one is refused, counted and", "explained, never done"], *BELIEF)
    out += arrow((525, 240), (525, 168)) + words(537, 209, "what begins is an event, too", 13, color=SOFT)
    out += arrow((400, 294), (280, 294)) + said(340, 284, "legal")
    out += card(30, 240, 250, 108, "Fleet: begins it", ["a start ends as a finished job,", "a reshape as slices that are gone", "and slices that exist"], *WORLD)
    out += arrow((155, 240), (155, 168)) + words(167, 209, "reports back", 13, bold=True)

    out += arrow((100, 348), (100, 404), dash="5 4") + words(112, 382, "is one of two", 13, color=SOFT)
    out += arrow((240, 348), (240, 376), (425, 376), (425, 404), dash="5 4")
    out += card(30, 404, 240, 108, "SimFleet", ["jumps to the next instant: sim,", "compare, search, size, train;", "eta and whatif on a copy"])
    out += card(300, 404, 250, 108, "LiveFleet", ["is told what happened; its effects", "wait until they are on disk:", "serve, on real or emulated GPUs"])
    out += arrow((600, 348), (600, 376), (895, 376), (895, 404), dash="5 4")
    out += words(746, 368, "every event, in order", 13, "middle", color=SOFT)
    out += card(770, 404, 250, 108, "Journal", ["replays to the same figures, or", "runs the day again under other", "policies"])
    return page(1050, 536, "The loop of events, belief, policy and plan", out)

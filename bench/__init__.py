"""How fast nanobot is, and how well it recalls: `python -m bench` prints one table; see docs/performance.md.

turn      one turn with an instant model, in sessions of 0 to 100,000 messages
disk      bytes written and fsyncs in a turn
loading   opening a long session, and what of it goes to the model
prompt    building the prompt
startup   `nanobot --help` and `--version` as whole processes
memory    memory after one turn
crowd     many sessions talking at once
gateway   from a message on Telegram to the request, from the answer to its message; an idle gateway
history   appending an episode, and the newest of them, among many
versions  what a dream adds to its model, and taking back, in a long history
finding   searching all that was said
forget    erasing something in a home of a gigabyte

Two that are run by themselves: `python -m bench.tokens` (speed and error of token estimates) and
`python -m bench.recall DATA` (whether recall finds what answers a question).
bot.py, written.py, process.py, machine.py and figures.py are what they are made of.
"""

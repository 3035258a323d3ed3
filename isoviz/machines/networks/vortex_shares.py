"""How many packets the switch of a Data Vortex delivers per port and cycle when it is saturated: a table that a simulation made.

A packet waits at every input in every cycle, and all outputs are alike. Saturated switches deliver what they are offered at most:
they do not collapse. The table is generated: `.ci/vortex_shares.py` measures it with the simulated switch.
"""

from __future__ import annotations

from isoviz import checks

MOST_HEIGHTS, MOST_ANGLES = 1 << 16, 256

# begin of the table: by heights, for 1 to 8 angles, in thousandths: with ports at 1 of the angles, at 2, …, at all
MEASURED = {
    2: "668 | 749 471 | 750 467 365 | 750 513 366 298 | 748 514 372 298 251 | "
    "750 513 388 298 252 217 | 749 513 388 305 252 218 191 | 751 513 389 313 254 218 191 171",
    4: "471 | 627 366 | 692 407 297 | 708 448 312 248 | 719 463 327 256 212 | "
    "715 471 344 263 216 184 | 720 473 350 270 220 187 164 | 714 476 351 277 225 190 165 147",
    8: "366 | 550 306 | 627 363 257 | 653 401 280 218 | 682 425 299 230 189 | "
    "674 430 311 239 195 166 | 688 439 322 248 201 170 148 | 680 438 323 252 205 173 150 133",
    16: "306 | 496 268 | 590 332 231 | 610 370 257 199 | 644 398 278 213 174 | "
    "642 404 288 222 181 154 | 661 416 302 232 188 158 138 | 651 411 303 234 192 162 140 124",
    32: "268 | 456 242 | 556 309 213 | 585 348 240 186 | 619 377 263 200 163 | "
    "612 385 272 211 171 145 | 636 398 287 221 178 150 130 | 626 394 289 222 182 154 133 118",
    64: "242 | 426 223 | 532 290 199 | 561 331 228 176 | 601 361 251 191 155 | "
    "593 370 261 202 163 138 | 616 383 276 211 171 144 125 | 604 379 278 213 175 147 128 113",
    128: "223 | 403 209 | 511 276 189 | 542 318 218 168 | 583 349 241 184 149 | "
    "579 358 252 194 158 133 | 602 372 267 204 165 139 120 | 588 367 269 206 169 142 124 109",
    256: "208 | 384 198 | 493 265 180 | 528 306 211 161 | 567 339 234 178 144 | "
    "564 348 244 188 153 129 | 590 361 260 199 160 134 117 | 578 358 262 201 165 138 120 106",
    512: "197 | 367 189 | 479 255 174 | 514 297 204 156 | 556 330 226 173 140 | "
    "551 340 237 184 149 126 | 579 354 253 194 156 131 114 | 568 349 257 195 161 135 117 103",
    1024: "188 | 354 181 | 465 248 168 | 503 290 199 152 | 546 322 221 168 136 | "
    "541 332 232 180 146 123 | 567 346 248 189 154 129 112 | 557 342 250 191 158 132 114 101",
    2048: "181 | 342 175 | 455 241 163 | 494 284 193 149 | 536 315 217 165 134 | "
    "534 326 228 176 143 120 | 559 341 244 186 149 126 108 | 546 336 246 188 156 130 113 100",
    4096: "175 | 333 169 | 446 235 158 | 485 277 190 146 | 527 310 213 161 130 | "
    "524 320 223 172 140 119 | 552 335 240 183 148 124 108 | 541 332 242 186 152 129 111 98",
}
# end of the table


def input_angles(angles: int, inputs: int) -> tuple[int, ...]:
    """The angles with ports: as many as there are `inputs`, evenly around."""
    return tuple([k * angles // inputs for k in range(inputs)])


def measured_share(owner: str, heights: int, angles: int, inputs: int) -> float:
    """Packets per port and cycle of a saturated switch with ports at `inputs` of its angles.

    Raises:
        MachineError: no such switch was measured.
    """
    rows = MEASURED.get(heights, "").split("|")
    if angles > len(rows) or not rows[0]:
        most = len(next(iter(MEASURED.values())).split("|"))
        raise checks.FieldError(
            owner,
            "share",
            f"expected the packets per port and cycle of such a switch, as a simulation of it measures them: measured"
            f" are {min(MEASURED)} to {max(MEASURED):,} heights with 1 to {most} angles, not {heights:,} with {angles}",
        )
    return int(rows[angles - 1].split()[inputs - 1]) / 1000

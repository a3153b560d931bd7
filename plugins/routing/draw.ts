import { hash } from 'node:crypto'

/** One of the models that a split chooses from. */
export interface SplitArm {
  readonly model: string
  /** Only the ratio of the weights matters. */
  readonly weight: number
}

const TWO_TO_48 = 2 ** 48

/** Longer subjects, such as the first message of a conversation, are hashed once and not for each arm. */
const MAX_SUBJECT_CHARS = 256

/**
 * Returns a number between 0 and 1, both exclusive, that depends on the texts only and looks random. Hashing
 * is one call: an HMAC takes three times as long, and what it adds is not needed for a fixed list of texts.
 */
export function drawNumber(texts: readonly string[]): number {
  const digest = hash('sha256', JSON.stringify(texts), 'buffer')
  return (digest.readUIntBE(0, 6) + 0.5) / TWO_TO_48
}

/**
 * Draws an arm for a subject by weighted rendezvous hashing: every arm draws a number of its own, so a change
 * of one weight moves subjects to or from that arm only, and the order of the arms does not matter. `seed`
 * tells splits apart. At least one weight must be positive. See docs/decisions/routing.md, "Splits are drawn
 * by weighted rendezvous hashing".
 */
export function drawArm<Arm extends SplitArm>(
  arms: readonly Arm[],
  seed: readonly string[],
  subject: string,
): Arm {
  const key = subject.length > MAX_SUBJECT_CHARS ? hash('sha256', subject) : subject
  let drawn: Arm | undefined
  let lowest = Number.POSITIVE_INFINITY
  for (const arm of arms) {
    const distance = -Math.log(drawNumber([...seed, key, arm.model])) / arm.weight
    if (distance >= lowest) continue
    lowest = distance
    drawn = arm
  }
  if (drawn === undefined) throw new RangeError('no arm of the split has a positive weight')
  return drawn
}

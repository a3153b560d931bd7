import { MASKED, type Person, PINNED_BY_RULE, wordOf } from './people.ts'
import { longText, words } from './words.ts'
import type { World } from './world.ts'

/** A prompt, and its expected outcome. */
export interface Said {
  readonly person: Person
  readonly prompt: string
  /** The text that the provider must receive. */
  readonly heard: string
  /** Texts that the warnings must contain. */
  readonly warnings: readonly string[]
  readonly mode?: string
  readonly model?: string
  /** The rule that must block it. */
  readonly blockedBy?: string
}

export interface Wish {
  /** Number of words, or of bytes of a long text. */
  readonly words?: number
  readonly bytes?: number
  readonly feature?: string
  readonly person?: Person
  /** Appended for the sandbox, which removes it. */
  readonly marker?: string
}

/** What a person's rules do. Most prompts match none. */
const FEATURES = ['mask', 'card', 'warn', 'cheap', 'pin', 'note', 'others'] as const

/** Creates a unique prompt of a person. */
export function speak(world: World, wish: Wish = {}): Said {
  const { chance } = world
  const person = wish.person ?? chance.pick(world.people)
  const feature = wish.feature ?? (chance.chance(0.25) ? chance.pick(FEATURES) : 'none')
  const text =
    wish.bytes === undefined
      ? words(chance, wish.words ?? 3 + chance.integer(40))
      : longText(chance, wish.bytes)
  const begin = `${world.nonce()} ${text}`
  const { say, hear = say, ...outcome } = featureOf(feature, person, world)
  const end = wish.marker === undefined ? '' : ` [[sandbox:${wish.marker}]]`
  return {
    person,
    prompt: `${begin} ${say}${end}`.trim(),
    heard: `${begin} ${hear}`.trim(),
    warnings: [],
    ...outcome,
  }
}

function featureOf(feature: string, person: Person, { chance, people }: World) {
  const word = (what: string) => wordOf(what, person)
  switch (feature) {
    case 'mask':
      return { say: `(${word('HUSH')})`, hear: `(${MASKED(person)})` }
    case 'card':
      return { say: 'card 1234.', hear: 'no. 1234.' }
    case 'block':
      return { say: word('Halt'), blockedBy: 'block' }
    case 'warn':
      return { say: word('mind'), warnings: ['Firewall rule "warn" triggered.'] }
    case 'cheap':
      return { say: word('cheap'), mode: 'cost' }
    case 'pin':
      return { say: word('pin'), model: PINNED_BY_RULE }
    case 'note':
      return { say: word('note'), warnings: [word('noted')] }
    case 'others': {
      // Words of another person's rules are ordinary words.
      const other = chance.pick(people.filter(({ id }) => id !== person.id))
      return { say: ['hush', 'halt', 'pin'].map((what) => wordOf(what, other)).join(' ') }
    }
    default:
      return { say: '' }
  }
}

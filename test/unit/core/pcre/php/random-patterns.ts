import type { Random } from '../../../../support/random.ts'

interface RandomPattern {
  readonly pattern: string
  /** The kinds of syntax in it. */
  readonly kinds: ReadonlySet<string>
}

const ATOMS = [
  'a',
  'b',
  'c',
  '1',
  ' ',
  '.',
  '[ab]',
  '[^b]',
  '\\d',
  '\\w',
  '\\s',
  '\\W',
  '[[:alpha:]]',
  'é',
  '-',
]
const ASSERTIONS = ['^', '$', '\\b', '\\B', '\\A', '\\z', '\\Z']
const VERBS = ['FAIL', 'ACCEPT', 'COMMIT', 'PRUNE', 'SKIP', 'THEN']
const PROPERTIES = ['\\p{L}', '\\p{Lu}', '\\P{Nd}', '\\p{Greek}', '\\p{Xan}', '\\h', '\\R', '\\N']

/** Creates random patterns of all kinds of PCRE syntax, and texts that they often match. */
export function randomPatterns({ pick, integer, chance }: Random) {
  function nextPattern(): RandomPattern {
    const kinds = new Set<string>()
    let groups = 0

    function sequence(depth: number): string {
      return Array.from({ length: 1 + integer(3) }, () => item(depth)).join('')
    }

    function alternation(depth: number): string {
      return Array.from({ length: chance(0.35) ? 2 + integer(2) : 1 }, () =>
        chance(0.05) ? '' : sequence(depth),
      ).join('|')
    }

    function item(depth: number): string {
      const made = atom(depth)
      if (!chance(0.35) || made === '' || made.startsWith('(?(DEFINE')) return made
      const quantifier = pick(['*', '+', '?', '{2}', '{1,3}', '{0,2}'])
      if (chance(0.15)) kinds.add('possessive')
      else return made + quantifier + (chance(0.25) ? '?' : '')
      return `${made}${quantifier}+`
    }

    function group(kind: string, depth: number): string {
      kinds.add(kind)
      return alternation(depth - 1)
    }

    function capture(depth: number): string {
      groups += 1
      return `(${group('capture', depth)})`
    }

    function reference(): string {
      kinds.add('back-reference')
      return `\\${1 + integer(Math.max(1, groups))}`
    }

    function atom(depth: number): string {
      const roll = integer(depth > 0 ? 100 : 48)
      if (roll < 34) return pick(ATOMS)
      if (roll < 40) return pick(ATOMS.slice(0, 4))
      if (roll < 44) return chance(0.3) ? rare(PROPERTIES, 'property') : pick(ASSERTIONS).concat('(?:)')
      if (roll < 48) return groups > 0 ? reference() : 'a'
      if (roll < 64) return capture(depth)
      if (roll < 74) return `(?:${group('group', depth)})`
      if (roll < 82) return `(?${pick(['=', '!'])}${group('look-ahead', depth)})`
      if (roll < 86) return `(?<${pick(['=', '!'])}${rare(ATOMS, 'look-behind')})`
      if (roll < 89) return `(?>${group('atomic', depth)})`
      if (roll < 91) return `(?|(${group('branch reset', depth)})|${branchAfterReset(depth)})`
      if (roll < 93) return groups > 0 ? `(?(${1 + integer(groups)})${group('condition', depth)})` : 'b'
      if (roll < 95) return rare(groups > 0 ? ['(?R)?', '(?1)', '(?1)?'] : ['(?R)?'], 'recursion or call')
      if (roll < 97) return `(*${rare(VERBS, 'verb')})`
      if (roll < 98) return rare(['\\X'], 'grapheme')
      return rare(['\\K', '\\G', '(?i)', '(?-i)'], 'other')
    }

    function branchAfterReset(depth: number): string {
      groups += 1
      return `(${sequence(depth - 1)})`
    }

    function rare(choices: readonly string[], kind: string): string {
      kinds.add(kind)
      return pick(choices)
    }

    const body = alternation(3)
    if (kinds.size === 0) kinds.add('plain')
    return { pattern: `/${body}/${pick(['', '', 'i', 'm', 's', 'u', 'U'])}`, kinds }
  }

  function nextSubject(): string {
    const letters = ['a', 'b', 'c', 'A', 'B', '1', ' ', '\n', 'é', '-', 'ab', 'aa']
    return Array.from({ length: integer(12) }, () => pick(letters)).join('')
  }

  return { nextPattern, nextSubject }
}

import { PatternFault } from './fault.ts'
import { categorySet, complementSet, shorthandSet } from './named-sets.ts'
import type { SetItem } from './syntax.ts'

/** The set of `\p{name}`: a general category, `L&`, `Any`, PCRE's own `X…`, a script or a binary property. */
export function propertySet(name: string, negated: boolean): readonly SetItem[] {
  const written = name.replace(/[\s_-]+/g, '_').replace(/^_|_$/g, '')
  const [, caret = '', plain = ''] = written.match(/^(\^?)_?(.*)$/s) ?? []
  const items = findSet(plain)
  if (items === undefined) throw new PatternFault(`\\p{${name}} is no known property`)
  return negated !== (caret !== '') ? complementSet(items) : items
}

const CATEGORIES =
  'C Cc Cf Cn Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs'.split(
    ' ',
  )

const COMPOUND: Readonly<Record<string, readonly SetItem[]>> = {
  any: [{ from: 0, to: 0x10ffff }],
  'l&': categorySet('Lu', 'Ll', 'Lt'),
  lc: categorySet('Lu', 'Ll', 'Lt'),
  xan: categorySet('L', 'N'),
  xwd: shorthandSet('w', true),
  xsp: shorthandSet('s', true),
  xps: shorthandSet('s', true),
}

function findSet(name: string): readonly SetItem[] | undefined {
  const lower = name.toLowerCase()
  const category = CATEGORIES.find((known) => known.toLowerCase() === lower)
  if (category !== undefined) return categorySet(category)
  return COMPOUND[lower] ?? findScript(lower) ?? findBinary(lower)
}

/** A bare script name means its extensions as well, as in PCRE2 since 10.40. */
function findScript(lower: string): readonly SetItem[] | undefined {
  const [, kind = '', script = ''] =
    lower.match(/^(?:(sc|script|scx|script_?extensions)_?[:=]_?)?(\w+)$/) ?? []
  const property = `${kind === 'sc' || kind === 'script' ? 'sc' : 'scx'}=${titleCase(script)}`
  return isProperty(property) ? categorySet(property) : undefined
}

function findBinary(lower: string): readonly SetItem[] | undefined {
  const name = lower === 'ascii' ? 'ASCII' : titleCase(lower)
  // JavaScript reads long category names such as `Letter` here, which PCRE does not know.
  return isProperty(name) && !isProperty(`gc=${name}`) ? categorySet(name) : undefined
}

function titleCase(name: string): string {
  return name.replace(/(^|_)[a-z]/g, (start) => start.toUpperCase())
}

function isProperty(property: string): boolean {
  if (!/^[\w=]+$/.test(property)) return false
  try {
    new RegExp(`\\p{${property}}`, 'u')
    return true
  } catch {
    return false
  }
}

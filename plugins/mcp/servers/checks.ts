import { isJsonObject } from '../../../core/contract/index.ts'
import { INSTRUCTION_PRESETS } from '../../../core/pcre/presets/instructions.ts'
import type { ToolFinding } from '../../../projections/events/tool-servers.ts'
import type { ToolDefinition } from './list-tools.ts'

/**
 * Tags, zero-width characters, controls of direction, and other characters without a form. Not the joiner and
 * the variation selectors of emoji.
 */
const HIDDEN = [
  ...['\\u{e0000}-\\u{e0fff}', '\\u200b\\u200c\\u200e\\u200f', '\\u202a-\\u202e\\u2060-\\u206f\\ufeff'],
  ...['\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5', '\\u180b-\\u180f\\u3164\\uffa0\\ufff0-\\ufffb'],
  ...['\\u{1d173}-\\u{1d17a}', '\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f'],
].join('')

const HIDDEN_TEXT = new RegExp(`[${HIDDEN}]+`, 'u')
const EACH_HIDDEN = new RegExp(`[${HIDDEN}]`, 'gu')

/** Instructions to the model that descriptions of tools have no reason to give. */
const PHRASES = INSTRUCTION_PRESETS.map(({ name, pattern }) => ({
  check: name === 'secret_file' ? 'exfiltration' : name,
  pattern: toRegExp(pattern),
}))

/** The patterns of these presets mean the same in JavaScript. */
function toRegExp(pattern: string): RegExp {
  const end = pattern.lastIndexOf('/')
  return new RegExp(pattern.slice(1, end), pattern.slice(end + 1))
}

const MAX_FINDINGS = 20
const MAX_EXCERPT = 120

/**
 * Inspects all texts of a definition, also those of names and keys. `otherServers`: names that a tool could
 * pretend to belong to. See docs/decisions/tools.md, "What is suspicious is never approved by itself".
 */
export function findInstructions(
  name: string,
  definition: ToolDefinition,
  otherServers: readonly string[],
): readonly ToolFinding[] {
  const findings: ToolFinding[] = []
  const [prefix = '', rest] = name.split('__', 2)
  if (rest !== undefined && otherServers.includes(prefix))
    findings.push({ check: 'other_server', path: '/name', excerpt: name })
  for (const [path, text] of listTexts(definition, '')) {
    const hidden = HIDDEN_TEXT.exec(text)
    if (hidden !== null) findings.push({ check: 'hidden_text', path, excerpt: excerptOf(text, hidden) })
    const plain = text.normalize('NFKC').replaceAll(EACH_HIDDEN, '')
    for (const { check, pattern } of PHRASES) {
      const found = pattern.exec(plain)
      const isKnown = findings.some((finding) => finding.check === check && finding.path === path)
      if (found !== null && !isKnown) findings.push({ check, path, excerpt: excerptOf(plain, found) })
    }
    if (findings.length >= MAX_FINDINGS) break
  }
  return findings.slice(0, MAX_FINDINGS)
}

function* listTexts(value: unknown, path: string): Generator<readonly [path: string, text: string]> {
  if (typeof value === 'string') yield [path, value]
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* listTexts(item, `${path}/${index}`)
  else if (isJsonObject(value))
    for (const [key, field] of Object.entries(value)) {
      const inner = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
      yield [inner, key]
      yield* listTexts(field, inner)
    }
}

/** What was found and a little around it, in which hidden characters are seen. */
function excerptOf(text: string, { index, 0: { length } }: RegExpExecArray): string {
  const start = Math.max(0, index - 20)
  const excerpt = text.slice(start, Math.min(index + length + 20, start + MAX_EXCERPT))
  const visible = excerpt.replaceAll(
    EACH_HIDDEN,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
  return visible.toWellFormed().slice(0, 2 * MAX_EXCERPT)
}

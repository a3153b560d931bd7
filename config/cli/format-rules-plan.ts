import type { JsonObject } from '../../core/contract/index.ts'
import {
  kindOfList,
  type PlannedChange,
  RULE_LISTS,
  type RuleListChanges,
} from '../../plugins/rules-file/planned.ts'
import type { ShownPlan } from './rules-target.ts'

const SIGNS = { add: '+', change: '~', remove: '-' } as const

/** The lines of a plan for people: `+` is added, `~` changed, `-` removed. */
export function formatPlan({ changes, warnings }: ShownPlan): readonly string[] {
  return [
    ...changes.flatMap(formatChange),
    ...warnings.map(({ path, message }) => `! ${path}: ${message}`),
    summarize(changes),
  ]
}

/** `1 to add, 2 to change, 0 to remove.` */
export function summarize(changes: readonly PlannedChange[]): string {
  if (changes.length === 0) return 'No changes.'
  const count = (action: PlannedChange['action']) =>
    changes.filter((change) => change.action === action).length
  return `${count('add')} to add, ${count('change')} to change, ${count('remove')} to remove.`
}

function formatChange(change: PlannedChange): readonly string[] {
  const { action, type, id, name, fields = {}, members } = change
  const title = type === 'budget' ? `budget of ${name}` : `${type} "${name}"${id === null ? '' : ` (${id})`}`
  return [
    `${SIGNS[action]} ${title}`,
    ...Object.entries(fields)
      .filter(([, { from, to }]) => from !== undefined || to !== null)
      .map(([field, { from, to }]) => `    ${formatField(field, from, to)}`),
    ...(members?.added ?? []).map((user) => `    + member "${user.name}" (${user.id})`),
    ...(members?.removed ?? []).map((user) => `    - member "${user.name}" (${user.id})`),
    ...RULE_LISTS.flatMap((list) => formatRules(kindOfList(list), change[list])),
  ]
}

function formatField(field: string, from: unknown, to: unknown): string {
  if (from === undefined) return `${field}: ${JSON.stringify(to)}`
  return `${field}: ${JSON.stringify(from)} -> ${to === undefined ? 'none' : JSON.stringify(to)}`
}

function formatRules(kind: string, changes: RuleListChanges | undefined): readonly string[] {
  if (changes === undefined) return []
  return [
    ...changes.added.flatMap((rule) => [`    + ${kind} rule "${rule.name}"`, ...formatContent(rule)]),
    ...changes.changed.flatMap(({ id, name, changes: fields }) => [
      `    ~ ${kind} rule "${name}" (${id})`,
      ...Object.entries(fields).map(([field, { from, to }]) => `        ${formatField(field, from, to)}`),
    ]),
    ...changes.removed.map(({ id, name }) => `    - ${kind} rule "${name}" (${id})`),
  ]
}

function formatContent({ name: _, ...rule }: JsonObject): readonly string[] {
  return Object.entries(rule)
    .filter(([, value]) => value !== null)
    .map(([field, value]) => `        ${field}: ${JSON.stringify(value)}`)
}

import { get, orElse, read } from './api.ts'
import { humanize } from './format.ts'
import { groups, type Names, users } from './names.ts'
import { href, modelHref } from './router.ts'
import type { Catalogue, CatalogueModel, Model, Policy, RequestRecord, ToolServer } from './schemas.ts'
import { isOperator, root, seesEverything } from './session.ts'
import { savedViews } from './views.ts'

/** Something with an address. */
export interface PaletteEntry {
  readonly kind: string
  readonly name: string
  readonly note?: string | undefined
  readonly href: string
}

/** Offered of each kind. */
const MAX_OF_KIND = 6

const MAX_SHOWN = 24

/**
 * Returns the entries whose names contain all words of a text: those that begin with it first, and otherwise
 * in the order of the entries. Without a text, only pages and views are offered.
 */
export function rankEntries(entries: readonly PaletteEntry[], text: string): readonly PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return entries.filter(({ kind }) => kind === 'Page' || kind === 'View')
  const found = entries.filter(({ name, note = '' }) => {
    const searched = `${name} ${note}`.toLowerCase()
    return words.every((word) => searched.includes(word))
  })
  const counts = new Map<string, number>()
  const few = found.filter(({ kind }) => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return (counts.get(kind) ?? 0) <= MAX_OF_KIND
  })
  const begins = ({ name }: PaletteEntry) => Number(name.toLowerCase().startsWith(text.toLowerCase().trim()))
  return few.sort((a, b) => begins(b) - begins(a)).slice(0, MAX_SHOWN)
}

export function listViews(): readonly PaletteEntry[] {
  return Object.entries(savedViews.value).flatMap(([page, views]) =>
    views.map(({ name, query }) => ({ kind: 'View', name, note: page, href: href(`/${page}`, query) })),
  )
}

/** Lists that are read when the palette opens. A list that the viewer may not read is empty. */
export const LISTS: readonly (() => Promise<readonly PaletteEntry[]>)[] = [
  listPolicies,
  listRules,
  listModels,
  listToolServers,
]

async function listPolicies(): Promise<readonly PaletteEntry[]> {
  if (!isOperator()) return []
  const policies = await get<readonly Policy[]>('/admin/policies')
  return policies.map(({ id, name }) => ({ kind: 'Policy', name, href: href(`/policies/${id}`) }))
}

/** Policies of a file of rules, with the lists of their rules. */
interface RulesFile {
  readonly policies?: readonly (Record<string, unknown> & { readonly id: number; readonly name: string })[]
}

async function listRules(): Promise<readonly PaletteEntry[]> {
  if (!seesEverything()) return []
  const { policies = [] } = await get<RulesFile>('/admin/rules/file', { sections: 'policies' })
  return policies.flatMap((policy) =>
    ['firewall', 'routing', 'tool'].flatMap((kind) => {
      const rules = (policy[`${kind}_rules`] ?? []) as readonly {
        readonly id: number
        readonly name: string
      }[]
      return rules.map(({ id, name }) => ({
        kind: 'Rule',
        name,
        note: policy.name,
        href: href(`/policies/${policy.id}`, { rule: `${kind}:${id}` }),
      }))
    }),
  )
}

/** All models of the catalogue; for users, those for chats that they may use, which open the playground. */
async function listModels(): Promise<readonly PaletteEntry[]> {
  if (isOperator()) {
    const { models } = await get<Catalogue>('/admin/models')
    return models.map((model) => toModelEntry(model, modelHref(model)))
  }
  const models = await get<readonly Model[]>('/v1/models')
  return models
    .filter(({ operation }) => operation === 'chat')
    .map((model) => toModelEntry(model, href('/playground', { model: `${model.provider}/${model.id}` })))
}

const toModelEntry = ({ id: name, provider: note }: Model | CatalogueModel, href: string): PaletteEntry => ({
  ...{ kind: 'Model', name, note, href },
})

async function listToolServers(): Promise<readonly PaletteEntry[]> {
  if (!seesEverything()) return []
  const servers = await get<readonly ToolServer[]>('/admin/tool-servers').catch(orElse([]))
  return servers.map(({ id, name }) => ({ kind: 'Tool server', name, href: href(`/tool-servers/${id}`) }))
}

/** Finds what is too much to be listed: users, groups, and a request by its id. */
export async function searchEntries(text: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  if (text.trim() === '') return []
  const found = await Promise.all([
    findRequest(text.trim(), signal),
    findNamed('user', users, text, signal),
    findNamed('group', groups, text, signal),
  ])
  return found.flat()
}

async function findNamed(kind: string, names: Names, text: string, signal: AbortSignal) {
  if (!isOperator()) return []
  const found = await names.search(text.trim(), signal, MAX_OF_KIND)
  const title = humanize(kind).replace(/^./, (letter) => letter.toUpperCase())
  return found.map(({ id, name }) => ({ kind: title, name, note: String(id), href: href(`/${kind}s/${id}`) }))
}

async function findRequest(id: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  if (!/^req_\w+$/.test(id)) return []
  const path = `${root()}/requests/${id}`
  const found = await read<{ data: RequestRecord }>(path, {}, signal).catch(orElse(undefined))
  if (!found) return []
  const { status, model } = found.data
  return [{ kind: 'Request', name: id, note: `${status} ${model ?? ''}`, href: href(`/requests/${id}`) }]
}

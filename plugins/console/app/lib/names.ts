import { type Signal, signal } from '@preact/signals'
import { ApiError, endpointUrl, get, send } from './api.ts'
import { isOperator } from './session.ts'
import type { Page, RequestRecord, UserAccount } from './types.ts'

export interface Named {
  readonly id: number
  readonly name: string
}

/** Names that are read at once at the start, and by id later. */
const FIRST_NAMES = 500
const CONCURRENT = 4

/** Reads a name. Rejects if it cannot be read; undefined: nothing has this id any more. */
type ReadName<Id> = (id: Id) => Promise<string | undefined>

/** Names by id. Those that a page shows are read when it shows them. */
class NameCache<Id extends number | string> {
  readonly #read: ReadName<Id>
  readonly #fallback: (id: Id) => string
  readonly #names: Signal<ReadonlyMap<Id, string>> = signal(new Map())
  readonly #wanted = new Set<Id>()
  #isReading = false

  /** `fallback` stands in for a name that is not known. */
  constructor(fallback: (id: Id) => string, read: ReadName<Id>) {
    this.#fallback = fallback
    this.#read = read
  }

  add(items: readonly (readonly [Id, string])[]): void {
    this.#names.value = new Map([...this.#names.value, ...items])
  }

  of(id: Id): string {
    const name = this.#names.value.get(id)
    if (name === undefined && isOperator()) {
      this.#wanted.add(id)
      if (!this.#isReading) queueMicrotask(() => this.#readWanted())
    }
    return name ?? this.#fallback(id)
  }

  async #readWanted(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    for (;;) {
      const ids = [...this.#wanted].slice(0, CONCURRENT)
      if (ids.length === 0) break
      const found = await Promise.all(ids.map((id) => this.#find(id)))
      for (const id of ids) this.#wanted.delete(id)
      this.add(found.flatMap((named) => (named ? [named] : [])))
    }
    this.#isReading = false
  }

  /** Undefined: it could not be read, and is read again when it is shown again. */
  async #find(id: Id): Promise<readonly [Id, string] | undefined> {
    try {
      return [id, (await this.#read(id)) ?? this.#fallback(id)]
    } catch (error) {
      return error instanceof ApiError && error.status === 404 ? [id, this.#fallback(id)] : undefined
    }
  }
}

const readNameAt = (path: string) => async (id: number) => (await get<Named>(`${path}/${id}`)).name

const users = new NameCache((id: number) => `user ${id}`, readNameAt('/admin/users'))
const groups = new NameCache((id: number) => `group ${id}`, readNameAt('/admin/groups'))

/** Of rules such as `firewall:12`, also those that were deleted: requests tell what they were called. */
const rules = new NameCache<string>(String, async (rule) => {
  const [request] = await readRequests({ rule, limit: 1 })
  const entry = request?.rule_trace.find(({ kind, rule_id }) => `${kind}:${rule_id}` === rule)
  return entry && (entry.origin?.name ? `${entry.name} (${entry.origin.name})` : entry.name)
})

/** Requests tell whose a key is. */
const keys = new NameCache<string>(String, async (key) => {
  const [request] = await readRequests({ key, limit: 1 })
  if (request === undefined) return undefined
  const user = await get<UserAccount>(`/admin/users/${request.user_id}`)
  const name = user.keys.find(({ id }) => id === key)?.name ?? key.slice(0, 12)
  return `${name} (${user.name})`
})

async function readRequests(query: Readonly<Record<string, unknown>>): Promise<readonly RequestRecord[]> {
  return (await send<Page<RequestRecord>>('GET', endpointUrl('/admin/requests', query))).data
}

async function loadFirst(path: string): Promise<readonly Named[]> {
  return (await send<Page<Named>>('GET', `${path}?limit=${FIRST_NAMES}`)).data
}

export async function loadNames(): Promise<void> {
  const [someUsers, someGroups] = await Promise.all([loadFirst('/admin/users'), loadFirst('/admin/groups')])
  addUserNames(someUsers)
  addGroupNames(someGroups)
}

const toEntries = (items: readonly Named[]) => items.map(({ id, name }) => [id, name] as const)

export function addUserNames(items: readonly Named[]): void {
  users.add(toEntries(items))
}

export function addGroupNames(items: readonly Named[]): void {
  groups.add(toEntries(items))
}

export function userName(id: number | null | undefined): string {
  return id == null ? '' : users.of(id)
}

export function groupName(id: number): string {
  return groups.of(id)
}

/** The name of a rule such as `firewall:12`, with that of its policy. */
export function ruleName(rule: string): string {
  return rules.of(rule)
}

/** The name of an API key, with that of its user. */
export function keyName(id: string): string {
  return keys.of(id)
}

/** Reads all pages of a list, up to a number of them. */
export async function listAll<Item>(path: string, pages: number): Promise<readonly Item[]> {
  const items: Item[] = []
  let cursor: string | null = ''
  for (let page = 0; page < pages && cursor !== null; page++) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const answer: Page<Item> = await send<Page<Item>>('GET', `${path}?limit=500${query}`)
    items.push(...answer.data)
    cursor = answer.next_cursor
  }
  return items
}

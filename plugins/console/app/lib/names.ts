import { type Signal, signal } from '@preact/signals'
import { ApiError, get, send } from './api.ts'
import { isOperator } from './session.ts'
import type { Page } from './types.ts'

export interface Named {
  readonly id: number
  readonly name: string
}

/** Names that are read at once at the start, and by id later. */
const FIRST_NAMES = 500
const CONCURRENT = 4

/** Names by id, of users or of groups. Those that a page shows are read when it shows them. */
class NameCache {
  readonly #path: string
  readonly #noun: string
  readonly #names: Signal<ReadonlyMap<number, string>> = signal(new Map())
  readonly #wanted = new Set<number>()
  #isReading = false

  constructor(path: string, noun: string) {
    this.#path = path
    this.#noun = noun
  }

  async load(): Promise<void> {
    const { data } = await send<Page<Named>>('GET', `${this.#path}?limit=${FIRST_NAMES}`)
    this.add(data)
  }

  add(items: readonly Named[]): void {
    this.#names.value = new Map([...this.#names.value, ...items.map(({ id, name }) => [id, name] as const)])
  }

  /** Until the name is known, the id stands in. */
  of(id: number): string {
    const name = this.#names.value.get(id)
    if (name === undefined && isOperator()) {
      this.#wanted.add(id)
      if (!this.#isReading) queueMicrotask(() => this.#readWanted())
    }
    return name ?? `${this.#noun} ${id}`
  }

  async #readWanted(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    for (;;) {
      const ids = [...this.#wanted].slice(0, CONCURRENT)
      if (ids.length === 0) break
      const found = await Promise.all(ids.map((id) => this.#read(id)))
      for (const id of ids) this.#wanted.delete(id)
      const known = found.flatMap((named) => named ?? [])
      if (known.length > 0) this.add(known)
    }
    this.#isReading = false
  }

  /** What was deleted keeps its id as its name. Undefined: it could not be read, and is read again later. */
  async #read(id: number): Promise<Named | undefined> {
    return get<Named>(`${this.#path}/${id}`).catch((error: unknown) =>
      error instanceof ApiError && error.status === 404 ? { id, name: `${this.#noun} ${id}` } : undefined,
    )
  }
}

const users = new NameCache('/admin/users', 'user')
const groups = new NameCache('/admin/groups', 'group')

export async function loadNames(): Promise<void> {
  await Promise.all([users.load(), groups.load()])
}

export function addUserNames(items: readonly Named[]): void {
  users.add(items)
}

export function addGroupNames(items: readonly Named[]): void {
  groups.add(items)
}

export function userName(id: number | null | undefined): string {
  return id == null ? '' : users.of(id)
}

export function groupName(id: number): string {
  return groups.of(id)
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

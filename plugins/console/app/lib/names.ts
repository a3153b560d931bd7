import { signal } from '@preact/signals'
import { endpointUrl, type Page, read, send } from './api.ts'
import { isOperator } from './session.ts'

export interface Named {
  readonly id: number
  readonly name: string
}

/** Names that are read with one request. */
const AT_ONCE = 100

/** Options that are offered: who does not see theirs types more of the name. */
const MAX_OPTIONS = 20

/** Names by id of users, groups or policies. Those that a page shows are read together when it shows them. */
export class Names {
  readonly #kind: string
  readonly #path: string
  readonly #readsById: boolean
  readonly #names = signal<ReadonlyMap<number, string>>(new Map())
  #wanted = new Set<number>()

  /** Lists that do not take ids are short, and read as a whole. */
  constructor(kind: string, path = `/admin/${kind}s`, readsById = true) {
    this.#kind = kind
    this.#path = path
    this.#readsById = readsById
  }

  add(items: readonly Named[]): void {
    this.#names.value = new Map([...this.#names.value, ...items.map(({ id, name }) => [id, name] as const)])
  }

  /** The name, or a replacement until it is known. */
  of(id: number | null | undefined): string {
    if (id == null) return ''
    const name = this.#names.value.get(id)
    if (name === undefined && isOperator()) {
      if (this.#wanted.size === 0) queueMicrotask(() => this.#readWanted().catch(() => undefined))
      this.#wanted.add(id)
    }
    return name ?? this.#fallback(id)
  }

  /** Finds those with a part of the name, or with the id. */
  async search(q: string, signal?: AbortSignal, limit = MAX_OPTIONS): Promise<readonly Named[]> {
    const { data } = await read<Page<Named>>(this.#path, { q, limit }, signal)
    this.add(data)
    return data
  }

  /** Returns the id of the first one, to begin with; empty if there is none. */
  async first(): Promise<string> {
    const [first] = await this.search('', undefined, 1)
    return String(first?.id ?? '')
  }

  readonly #fallback = (id: number) => `${this.#kind} ${id}`

  /** What nothing has the id of any more is called by it. */
  async #readWanted(): Promise<void> {
    const wanted = [...this.#wanted]
    this.#wanted = new Set()
    for (let start = 0; start < wanted.length; start += AT_ONCE) {
      const ids = wanted.slice(start, start + AT_ONCE)
      const query = this.#readsById ? { id: ids, limit: AT_ONCE } : {}
      const { data } = await send<Page<Named>>('GET', endpointUrl(this.#path, query))
      this.add([...ids.map((id) => ({ id, name: this.#fallback(id) })), ...data])
    }
  }
}

export const users = new Names('user')
export const groups = new Names('group')
export const policies = new Names('policy', '/admin/policies', false)

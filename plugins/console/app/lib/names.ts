import { signal } from '@preact/signals'
import { send } from './api.ts'
import type { Group, Page, UserAccount } from './types.ts'

/** Users and groups by id, for pages that show names of them. */
export const userNames = signal<ReadonlyMap<number, string>>(new Map())
export const groupNames = signal<ReadonlyMap<number, string>>(new Map())

const MAX_PAGES = 10

/** Loads the names. A large gateway has more users than the console needs names of: the ids stand in. */
export async function loadNames(): Promise<void> {
  const [users, groups] = await Promise.all([
    listAll<UserAccount>('/admin/users', MAX_PAGES),
    listAll<Group>('/admin/groups', MAX_PAGES),
  ])
  userNames.value = new Map(users.map(({ id, name }) => [id, name]))
  groupNames.value = new Map(groups.map(({ id, name }) => [id, name]))
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

export function userName(id: number | null | undefined): string {
  return id == null ? '' : (userNames.value.get(id) ?? `user ${id}`)
}

export function groupName(id: number): string {
  return groupNames.value.get(id) ?? `group ${id}`
}

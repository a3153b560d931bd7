import { signal } from '@preact/signals'
import { type DraftRule, isChangedDraft } from './drafts.ts'
import { session } from './session.ts'

/**
 * Rules with changes that are not saved yet, by the person who makes them and the path of the rules. They are
 * kept in memory when another page is shown and when the session ends, until they are saved or discarded, the
 * person signs out, or the window is closed.
 */
const pending = signal<ReadonlyMap<string, readonly DraftRule[]>>(new Map())

addEventListener('beforeunload', (event) => {
  if (pending.value.size > 0) event.preventDefault()
})

const keyOf = (path: string) => `${session.value?.id} ${path}`

export function pendingDrafts(path: string): readonly DraftRule[] {
  return pending.value.get(keyOf(path)) ?? []
}

/** Without a changed rule among them, nothing is kept. */
export function keepDrafts(path: string, drafts: readonly DraftRule[]): void {
  const others = [...pending.value].filter(([key]) => key !== keyOf(path))
  const changed = drafts.some(isChangedDraft) ? [[keyOf(path), drafts] as const] : []
  pending.value = new Map([...others, ...changed])
}

/** Forgets the changes of the person who signs out. */
export function forgetDrafts(): void {
  pending.value = new Map([...pending.value].filter(([key]) => !key.startsWith(`${session.value?.id} `)))
}

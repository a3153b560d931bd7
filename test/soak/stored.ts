import type { Person } from './people.ts'

/** A response that the gateway said it has stored. */
export interface StoredOne {
  readonly id: string
  readonly person: Person
  /** What the model said; undefined once the response was deleted, or where it was not to be stored. */
  readonly text: string | undefined
}

/** Every response that was acknowledged. */
export interface StoredLedger {
  keep(id: string, person: Person, text: string): void
  /** A response that must not be found: it was deleted, or was not to be stored. */
  forget(id: string, person: Person): void
  readonly all: ReadonlyMap<string, StoredOne>
}

export function createStoredLedger(): StoredLedger {
  const all = new Map<string, StoredOne>()
  return {
    keep: (id, person, text) => all.set(id, { id, person, text }),
    forget: (id, person) => all.set(id, { id, person, text: undefined }),
    all,
  }
}

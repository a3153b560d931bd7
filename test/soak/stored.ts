import type { Person } from './people.ts'

/** A response that the gateway has acknowledged as stored. */
export interface StoredOne {
  readonly id: string
  readonly person: Person
  /** The model's text; undefined if the response was deleted or must not be stored. */
  readonly text: string | undefined
}

/** All acknowledged responses. */
export interface StoredLedger {
  keep(id: string, person: Person, text: string): void
  /** Records a response that must not be found: it was deleted, or was not stored. */
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

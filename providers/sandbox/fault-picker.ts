import { LRUCache } from 'lru-cache'
import { type Fault, type Marker, NO_FAULT, readFault, readMarkers } from './marker.ts'

export interface FaultPicker {
  pick: PickFault
  /** What befalls requests without a marker from now on, in the words of one; nothing when the text is empty. */
  setFault(words: string): void
}

export type PickFault = (userText: string, model: string) => Fault

/**
 * Finds the fault for a request: the first marker in its text that is meant for its model and not used up.
 * Markers with `times` are counted by their text, so a test that counts writes a marker of its own.
 */
export function createFaultPicker(): FaultPicker {
  const uses = new LRUCache<string, number>({ max: 10_000 })
  let usual = NO_FAULT

  function applies({ text, fault }: Marker, model: string): boolean {
    if (fault.model !== undefined && fault.model !== model) return false
    if (fault.times === Number.POSITIVE_INFINITY) return true
    const used = uses.get(text) ?? 0
    uses.set(text, used + 1)
    return used < fault.times
  }

  return {
    pick: (userText, model) => readMarkers(userText).find((marker) => applies(marker, model))?.fault ?? usual,
    setFault(words) {
      usual = readFault(words)
    },
  }
}

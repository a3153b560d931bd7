import { effect, type Signal, signal } from '@preact/signals'

/**
 * A signal that this browser keeps. Without storage, it lasts until the page is closed. What `accept` returns
 * undefined for, such as a value of another version, is the initial value.
 */
export function storedSignal<Value>(
  key: string,
  initial: Value,
  accept: (stored: unknown) => Value | undefined,
): Signal<Value> {
  const stored = signal(readStored(key, accept) ?? initial)
  effect(() => {
    const text = JSON.stringify(stored.value)
    try {
      if (stored.value === initial) localStorage.removeItem(key)
      else localStorage.setItem(key, text)
    } catch {
      // It is kept until the page is closed.
    }
  })
  // Another window has changed it.
  addEventListener('storage', (event) => {
    if (event.key === key) stored.value = readStored(key, accept) ?? initial
  })
  return stored
}

function readStored<Value>(key: string, accept: (stored: unknown) => Value | undefined): Value | undefined {
  try {
    return accept(JSON.parse(localStorage.getItem(key) ?? 'null'))
  } catch {
    return undefined
  }
}

/** The lists of an object by name, without entries of other kinds. */
export function toLists<Entry>(
  stored: unknown,
  isEntry: (entry: unknown) => entry is Entry,
): Readonly<Record<string, readonly Entry[]>> {
  const lists = Object.entries(stored ?? {}).filter(([, list]) => Array.isArray(list))
  return Object.fromEntries(lists.map(([name, list]) => [name, (list as unknown[]).filter(isEntry)]))
}

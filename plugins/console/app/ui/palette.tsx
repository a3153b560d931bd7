import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { toError } from '../lib/api.ts'
import { LISTS, listViews, type PaletteEntry, rankEntries, searchEntries } from '../lib/palette.ts'

/** While somebody types, the gateway is not asked for every letter. */
const PAUSE_MS = 150

interface PaletteProps {
  readonly pages: readonly PaletteEntry[]
  readonly onClose: () => void
}

/** Finds everything that has an address. See the pattern "combobox" of the ARIA guide. */
export function Palette({ pages, onClose }: PaletteProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const { entries, note } = useEntries(pages, text)
  const current = Math.min(active, entries.length - 1)

  useEffect(() => {
    dialog.current?.showModal()
    // Such as by the browser's way back.
    const close = () => dialog.current?.close()
    addEventListener('hashchange', close)
    return () => removeEventListener('hashchange', close)
  }, [])
  useEffect(() => setActive(0), [text])
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' })
  }, [current])

  function open(entry: PaletteEntry | undefined): void {
    if (!entry) return
    dialog.current?.close()
    location.hash = entry.href
  }

  function onKeyDown(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined && entries.length > 0)
      setActive((current + step + entries.length) % entries.length)
    else if (event.key === 'Enter') open(entries[current])
    else if (event.key === 'k' && (event.ctrlKey || event.metaKey)) dialog.current?.close()
    else return
    event.preventDefault()
  }

  return (
    <dialog ref={dialog} class="palette" aria-label="Find" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Find a page, user, policy, rule, model, tool server or request"
        aria-autocomplete="list"
        aria-expanded={entries.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length > 0 ? `${id}-${current}` : undefined}
        autoComplete="off"
        spellcheck={false}
        placeholder="Find a page, a name, or the id of a request"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="Found" tabIndex={-1}>
        {entries.map((entry, index) => (
          <div
            key={entry.kind + entry.href}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onMouseMove={() => setActive(index)}
            onMouseDown={(event) => {
              // The field keeps the focus.
              event.preventDefault()
              open(entry)
            }}
          >
            <span>
              {entry.name} {entry.note && <small class="muted">{entry.note}</small>}
            </span>
            <small class="muted">{entry.kind}</small>
          </div>
        ))}
      </div>
      <p class="muted" role="status">
        {note}
      </p>
      <p class="muted keys">
        <kbd>↑</kbd> <kbd>↓</kbd> choose · <kbd>Enter</kbd> opens · <kbd>Esc</kbd> closes · <kbd>?</kbd> on
        any page lists all keys
      </p>
    </dialog>
  )
}

/** What the gateway has found for a text. */
interface Found {
  readonly text: string
  readonly entries: readonly PaletteEntry[]
  readonly error?: string
}

function useEntries(pages: readonly PaletteEntry[], text: string) {
  const [lists, setLists] = useState<readonly PaletteEntry[]>(() => [...pages, ...listViews()])
  const [missing, setMissing] = useState(LISTS.length)
  const [found, setFound] = useState<Found>({ text: '', entries: [] })

  useEffect(() => {
    for (const read of LISTS) {
      read()
        // A list that the viewer may not read, or that a plugin would have, is left out.
        .catch(() => [])
        .then((entries) => setLists((old) => [...old, ...entries]))
        .finally(() => setMissing((old) => old - 1))
    }
  }, [])

  useEffect(() => {
    const controller = new AbortController()
    const timer = setTimeout(() => {
      searchEntries(text, controller.signal)
        .then((entries) => ({ text, entries }))
        .catch((thrown: unknown) => ({ text, entries: [], error: toError(thrown).message }))
        .then((result) => {
          if (!controller.signal.aborted) setFound(result)
        })
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])

  const entries = useMemo(() => {
    const ranked = rankEntries(lists, text)
    return found.text === text ? [...ranked, ...found.entries] : ranked
  }, [lists, found, text])
  const isSearching = missing > 0 || found.text !== text
  const none = text === '' ? '' : `Nothing is called “${text}”.`
  const note = found.error ?? (isSearching ? 'Searching…' : entries.length === 0 ? none : '')
  return { entries, note }
}

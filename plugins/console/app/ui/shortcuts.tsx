import { useEffect } from 'preact/hooks'
import { Dialog } from './dialogs.tsx'

/** The rows of all tables and lists of a page. */
const ROWS = 'main [data-rows] > *'

interface ShortcutsProps {
  readonly openPalette: () => void
  readonly openHelp: () => void
}

/** The keys of all pages. While somebody types, or a dialog is open, only the palette has one. */
export function useShortcuts({ openPalette, openHelp }: ShortcutsProps): void {
  useEffect(() => {
    const actions: Readonly<Record<string, () => void>> = {
      '/': () => focusSearch() || openPalette(),
      '?': openHelp,
      j: () => moveRow(1),
      k: () => moveRow(-1),
      Escape: () => currentRow()?.blur(),
    }
    function onKeyDown(event: KeyboardEvent): void {
      if (document.querySelector('dialog[open]')) return
      const { key, target, ctrlKey, metaKey, altKey } = event
      const action =
        (ctrlKey || metaKey) && key.toLowerCase() === 'k'
          ? openPalette
          : ctrlKey || metaKey || altKey || isTyping(target)
            ? undefined
            : key === 'Enter' && target === currentRow()
              ? openRow
              : actions[key]
      if (!action) return
      if (key !== 'Escape') event.preventDefault()
      action()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input:not([type="checkbox"]), select, textarea')

function focusSearch(): boolean {
  const fields = ['main search input[type="search"]', 'main search input']
  const [field] = fields.flatMap((selector) => [...document.querySelectorAll<HTMLInputElement>(selector)])
  field?.focus()
  field?.select()
  return field !== undefined
}

/** The row that has the focus, or that something in it has. */
const currentRow = () => document.activeElement?.closest<HTMLElement>(ROWS) ?? undefined

/** Without a current row, the first one in the window. */
function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)]
  const current = currentRow()
  const next = current
    ? rows[rows.indexOf(current) + step]
    : rows.find((row) => row.getBoundingClientRect().top >= 0)
  if (!next) return
  next.tabIndex = -1
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: 'nearest' })
}

/** Follows the first link of the row, or presses its first button. */
function openRow(): void {
  currentRow()?.querySelector<HTMLElement>('a[href], button')?.click()
}

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['Ctrl K', '⌘ K'], 'Find pages, users, policies, rules, models, tool servers and requests'],
  [['/'], 'Search in the page'],
  [['j', 'k'], 'Next and previous row'],
  [['Enter'], 'Open the row'],
  [['Esc'], 'Close what is open, or leave the row'],
  [['?'], 'This list'],
]

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="shortcuts">
        {KEYS.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="actions end">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

import { useState } from 'preact/hooks'
import type { PaletteEntry } from '../lib/palette.ts'
import { Palette } from './palette.tsx'
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx'

const KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'

/** The button that opens the palette, and the keys of all pages. */
export function Finder({ pages }: { readonly pages: readonly PaletteEntry[] }) {
  const [opened, setOpened] = useState<'palette' | 'help'>()
  // The other one may have been opened since.
  const close = (dialog: 'palette' | 'help') => setOpened((old) => (old === dialog ? undefined : old))
  useShortcuts({ openPalette: () => setOpened('palette'), openHelp: () => setOpened('help') })
  return (
    <>
      <button type="button" class="find" onClick={() => setOpened('palette')}>
        Find <kbd>{KEY}</kbd>
      </button>
      {opened === 'palette' && <Palette pages={pages} onClose={() => close('palette')} />}
      {opened === 'help' && <ShortcutsDialog onClose={() => close('help')} />}
    </>
  )
}

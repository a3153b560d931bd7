import { effect, signal } from '@preact/signals'

export const THEMES = ['system', 'light', 'dark'] as const

export type Theme = (typeof THEMES)[number]

const KEY = 'signalbox.theme'

/** The colors that were chosen in this browser. */
export const theme = signal<Theme>(readTheme())

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  try {
    localStorage.setItem(KEY, chosen)
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY)
    return THEMES.find((name) => name === stored) ?? 'system'
  } catch {
    return 'system'
  }
}

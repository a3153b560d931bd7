import { effect } from '@preact/signals'
import { storedSignal } from './stored.ts'

export const THEMES = ['system', 'light', 'dark'] as const

export type Theme = (typeof THEMES)[number]

/** The colors that were chosen in this browser. */
export const theme = storedSignal<Theme>('signalbox.theme', 'system', (stored) =>
  THEMES.find((name) => name === stored),
)

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

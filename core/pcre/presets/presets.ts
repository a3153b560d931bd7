import { INSTRUCTION_PRESETS } from './instructions.ts'
import { PERSONAL_PRESETS } from './personal.ts'
import type { Preset } from './preset.ts'
import { TECHNICAL_PRESETS } from './technical.ts'

/** All presets, in the order of the documentation. */
export const PRESETS: readonly Preset[] = [...PERSONAL_PRESETS, ...TECHNICAL_PRESETS, ...INSTRUCTION_PRESETS]

const presetsByName = new Map(PRESETS.map((preset) => [preset.name, preset]))

export function findPreset(name: string): Preset | undefined {
  return presetsByName.get(name)
}

/** A preset as users see it. */
interface PresetDescription {
  readonly name: string
  readonly description: string
  /** What is checked beside the pattern; null if nothing is. */
  readonly checked: string | null
  readonly example: string
}

export function listPresets(): readonly PresetDescription[] {
  return PRESETS.map(({ name, description, checked = null, examples }) => ({
    name,
    description,
    checked,
    example: examples.valid[0],
  }))
}

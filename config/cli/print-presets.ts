import { listPresets } from '../../core/pcre/presets/presets.ts'
import { printLine } from './stdout.ts'

/** Prints each preset for firewall rules as a line of JSON. */
export async function printPresets(): Promise<void> {
  for (const preset of listPresets()) printLine(JSON.stringify(preset))
}

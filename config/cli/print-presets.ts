import { listPresets } from '../../core/pcre/presets/presets.ts'
import type { CommandArgs } from './command.ts'

/** Prints each preset for firewall rules as a line of JSON. */
export async function printPresets({ print }: CommandArgs): Promise<void> {
  for (const preset of listPresets()) print(JSON.stringify(preset))
}

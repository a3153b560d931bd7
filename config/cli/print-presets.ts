import { listPresets } from '../../core/pcre/presets/presets.ts'
import type { CommandArgs } from './command.ts'
import { printList } from './output.ts'

/** Prints the presets for firewall rules. */
export async function printPresets(args: CommandArgs): Promise<void> {
  const columns = {
    NAME: ({ name }: Preset) => name,
    FINDS: ({ description }: Preset) => description,
    'ALSO CHECKED': ({ checked }: Preset) => checked,
  }
  printList(args, listPresets(), columns, '')
}

type Preset = ReturnType<typeof listPresets>[number]

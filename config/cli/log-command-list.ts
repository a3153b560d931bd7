import type { Command } from './command.ts'

/** The commands that work on the event log and its proofs, in the order of the help. */
export const LOG_COMMANDS: readonly Command[] = [
  {
    name: 'log export',
    summary: 'Write all events to stdout, each as a line of JSON.',
    options: {
      after: { value: 'POSITION', summary: 'Write only events after this position of the event log.' },
    },
    async run(args) {
      const { runLogExport } = await import('./log-commands.ts')
      return runLogExport(args)
    },
  },
  {
    name: 'log import',
    operands: ['FILE'],
    summary: 'Import an export into an empty event log.',
    details: 'Checks the whole file before it writes anything. Continues an import that was interrupted.',
    options: {
      checkpoint: { value: 'FILE', summary: 'Refuse a file that does not extend this saved checkpoint.' },
      'without-checkpoints': { summary: 'Accept events that no checkpoint of the file covers.' },
    },
    async run(args) {
      const { runLogImport } = await import('./log-commands.ts')
      return runLogImport(args)
    },
  },
  {
    name: 'log backup',
    operands: ['FOLDER'],
    summary: 'Copy the event log, stored responses and the request ledger into an empty folder.',
    details: 'A gateway may run meanwhile. Creates the folder if it does not exist.',
    options: {
      'history-only': { summary: 'Leave out stored responses and the request ledger.' },
    },
    async run(args) {
      const { runLogBackup } = await import('./log-commands.ts')
      return runLogBackup(args)
    },
  },
  {
    name: 'log key',
    summary: 'Print the public key that checkpoints of this data folder are signed with.',
    details: 'Creates the key if there is none. Give it to auditors, who check proofs with it.',
    async run(args) {
      const { runLogKey } = await import('./log-commands.ts')
      return runLogKey(args)
    },
  },
  {
    name: 'log checkpoint',
    summary: 'Sign a checkpoint over all events now, and print it.',
    details:
      'Prints the newest one if no event was written since. A gateway may run meanwhile. Fails if the ' +
      'events are not those that were recorded when they were written.',
    async run(args) {
      const { runLogCheckpoint } = await import('./log-commands.ts')
      return runLogCheckpoint(args)
    },
  },
  {
    name: 'log verify',
    summary: 'Check the events, their checkpoints, the state that they produce, and the snapshots.',
    details:
      'Prints all issues and exits with 1 if there are any. FILE is a checkpoint that was saved earlier, ' +
      'as GET /admin/audit/checkpoint returns it: the log must extend it.',
    options: {
      checkpoint: { value: 'FILE', summary: 'Prove that the log extends this checkpoint.' },
    },
    async run(args) {
      const { runLogVerify } = await import('./log-commands.ts')
      return runLogVerify(args)
    },
  },
  {
    name: 'proof check',
    operands: ['FILE'],
    summary: 'Check a proof of an event, offline.',
    details:
      'FILE is an answer of GET /admin/audit/{position}/proof. Prints the event. Without --key, the ' +
      'signature is checked with the key that the proof names, which proves something only if that is the ' +
      'key that you trust.',
    options: {
      key: { value: 'KEY', summary: 'The public key, as "signalbox log key" prints it.' },
    },
    async run(args) {
      const { runProofCheck } = await import('./check-proof-file.ts')
      return runProofCheck(args)
    },
  },
]

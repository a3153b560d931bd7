import { type Sandbox, startSandbox } from '../../../providers/sandbox/server.ts'

/**
 * The providers of a soak, in a process of their own: one sandbox that speaks all formats. Ends with the
 * process that started it.
 */

let sandbox: Sandbox = await startSandbox()
const { port } = new URL(sandbox.url)

process.on('message', async () => {
  await sandbox.close()
  sandbox = await startSandbox({ port: Number(port) })
  process.send?.('open again')
})
process.on('disconnect', () => process.exit())
// A terminal sends it to the whole group; the one who started this says when it is over.
process.on('SIGINT', () => undefined)
process.send?.(sandbox.url)

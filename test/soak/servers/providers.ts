import { type Sandbox, startSandbox } from '../../../providers/sandbox/server.ts'

/**
 * The providers of a soak in a separate process: one sandbox for all formats. Ends with its parent process.
 */

let sandbox: Sandbox = await startSandbox()
const { port } = new URL(sandbox.url)

process.on('message', async () => {
  await sandbox.close()
  sandbox = await startSandbox({ port: Number(port) })
  process.send?.('open again')
})
process.on('disconnect', () => process.exit())
// A terminal sends the signal to the whole group; the parent process stops this one.
process.on('SIGINT', () => undefined)
process.send?.(sandbox.url)

import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { providersAt } from './providers.ts'

/**
 * Starts a gateway whose providers are a sandbox of its own, before the tests of a `describe`, and stops both
 * after them. `record`: how many of the newest requests the sandbox keeps.
 */
export function useSandboxGateway(
  record: number,
  onStart: (sandbox: Sandbox, gateway: RunningGateway) => void,
): void {
  let sandbox: Sandbox | undefined
  let gateway: RunningGateway | undefined

  before(async () => {
    sandbox = await startSandbox({ record })
    gateway = await startGateway(providersAt(sandbox))
    onStart(sandbox, gateway)
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })
}

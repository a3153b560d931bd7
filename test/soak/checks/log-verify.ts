import { runSignalbox } from '../../support/gateway-process.ts'
import type { Check } from './check.ts'

/** `signalbox log verify` finds no issues. */
export async function verifyLog(dataDir: string): Promise<Check> {
  const { code, stdout, stderr } = await runSignalbox(['log', 'verify'], { DATA_DIR: dataDir })
  const faults = code === 0 ? [] : [`exit code ${code}: ${stdout}${stderr}`]
  return { name: 'log verify', found: stdout.trim().split('\n').join(' '), faults }
}

import { existsSync } from 'node:fs'
import path from 'node:path'
import { CLIENTS, type ClientLanguage, installedFolder, runInstaller, whyNoCommand } from '../language.ts'

/** The client of Rust, as one binary. Fetched and compiled crates are cached beside it. */
export async function rust(): Promise<ClientLanguage> {
  const folder = await installedFolder('rust', ['rust/Cargo.toml', 'rust/Cargo.lock'])
  const source = path.join(CLIENTS, 'rust')
  const target = path.join(folder.path, 'target')
  const binary = path.join(target, 'debug/clients')
  return {
    name: 'rust',
    whyMissing: () => whyNoCommand('cargo', ['--version']),
    async install(isShort) {
      if (isShort) return
      await folder.fill(() => runInstaller('cargo', ['fetch', '--locked'], source))
      const options = ['--quiet', '--locked', '--jobs', '2', '--target-dir', target]
      await runInstaller('cargo', ['build', ...options], source)
    },
    isInstalled: (isShort) => isShort || existsSync(binary),
    programs: (isShort) => (isShort ? [] : [{ name: 'rust', command: binary, args: [] }]),
  }
}

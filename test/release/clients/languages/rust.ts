import { existsSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  CLIENTS,
  type ClientLanguage,
  installedFolder,
  runInstaller,
  type Versions,
  whyNoCommand,
} from '../language.ts'

/** The client of Rust, as one binary. Fetched and compiled crates are cached beside it. */
export async function rust(versions: Versions): Promise<ClientLanguage> {
  const folder = await installedFolder('rust', ['rust/Cargo.toml', 'rust/Cargo.lock'], versions)
  const source = path.join(CLIENTS, 'rust')
  const copy = path.join(folder.path, 'source')
  const target = path.join(folder.path, 'target')
  const binary = path.join(target, 'debug/clients')
  return {
    name: 'rust',
    whyMissing: () => whyNoCommand('cargo', ['--version']),
    async install(isShort) {
      if (isShort) return
      // Cargo takes manifests and sources from one folder. With pinned versions, that is the repository's.
      const project = versions === 'pinned' ? source : copy
      await folder.fill(async () => {
        if (versions === 'pinned') return await runInstaller('cargo', ['fetch', '--locked'], source)
        await cp(source, copy, { recursive: true })
        const manifest = path.join(copy, 'Cargo.toml')
        await writeFile(manifest, withNewestVersions(await readFile(manifest, 'utf8')))
        await runInstaller('cargo', ['update'], copy)
      })
      const options = ['--quiet', '--locked', '--jobs', '2', '--target-dir', target]
      await runInstaller('cargo', ['build', ...options], project)
    },
    isInstalled: (isShort) => isShort || existsSync(binary),
    programs: (isShort) => (isShort ? [] : [{ name: 'rust', command: binary, args: [] }]),
  }
}

/** Without the pinned versions of clients. Other crates keep their major versions. */
function withNewestVersions(manifest: string): string {
  return manifest.replace(/(?<=version = ")=[^"]+/g, '*')
}

import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  CLIENTS,
  type ClientLanguage,
  installedFolder,
  runInstaller,
  type Versions,
  whyNoCommand,
} from '../language.ts'

/** The clients of Java. Maven fetches the libraries; a second step compiles the few classes. */
export async function java(versions: Versions): Promise<ClientLanguage> {
  const folder = await installedFolder('java', ['java/pom.xml'], versions)
  const source = path.join(CLIENTS, 'java/src')
  const classes = path.join(folder.path, 'classes')
  const libraries = path.join(folder.path, 'lib')
  return {
    name: 'java',
    whyMissing: async () =>
      (await whyNoCommand('javac', ['-version'])) ?? (await whyNoCommand('mvn', ['-version'])),
    async install(isShort) {
      if (isShort) return
      await folder.fill(() => copyLibraries(folder.path, libraries, versions))
      const files = (await readdir(source)).filter((file) => file.endsWith('.java'))
      await runInstaller('javac', ['-d', classes, '-cp', `${libraries}/*`, ...files], source)
    },
    isInstalled: (isShort) => isShort || existsSync(classes),
    programs: (isShort) =>
      isShort
        ? []
        : [
            {
              name: 'java',
              command: 'java',
              args: ['-cp', `${classes}${path.delimiter}${libraries}/*`, 'Main'],
            },
          ],
  }
}

async function copyLibraries(folder: string, libraries: string, versions: Versions): Promise<void> {
  const pom = await readFile(path.join(CLIENTS, 'java/pom.xml'), 'utf8')
  await writeFile(path.join(folder, 'pom.xml'), versions === 'newest' ? withNewestVersions(pom) : pom)
  const repository = path.join(folder, 'repository')
  const options = [`-Dmaven.repo.local=${repository}`, `-DoutputDirectory=${libraries}`]
  const args = ['--quiet', '--batch-mode', ...options, 'dependency:copy-dependencies']
  await runInstaller('mvn', args, folder)
}

/** The dependencies in the version that Maven calls the newest release; plugins stay. */
function withNewestVersions(pom: string): string {
  const [dependencies = '', ...rest] = pom.split('</dependencies>')
  const own = dependencies.replace(
    /(<\/artifactId>\s*<version>)[^<]+(?=<\/version>\s*<\/dependency>)/g,
    '$1RELEASE',
  )
  return [own, ...rest].join('</dependencies>')
}

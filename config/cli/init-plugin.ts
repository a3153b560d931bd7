import { existsSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { readVersion, shippedFile } from '../../core/util/package-folder.ts'
import { BUILT_IN_NAMES } from '../settings/built-in-names.ts'
import { type CommandArgs, UsageError } from './command.ts'

/** The name of the package in config/plugin-template, which the name of the plugin replaces. */
const TEMPLATE_NAME = 'signalbox-example'

const SHARED_FILES = ['package.json', 'gateway.test.js']

/** Each kind has a folder with these. */
const KIND_FILES = ['index.js', 'index.test.js', 'README.md']

const FILES = [...SHARED_FILES, ...KIND_FILES]

/** What the plugin is to do. The first is the default. */
const KINDS = ['request', 'rule', 'filter', 'provider']

/**
 * Writes a plugin package that works, with a link to this gateway in `node_modules`, so that its tests need
 * no network. Writes nothing if one of the files exists.
 */
export async function initPlugin({ operands, options, print }: CommandArgs): Promise<void> {
  const [name = '', folder] = operands
  const kind = options.get('kind') ?? 'request'
  checkPackageName(name)
  if (!KINDS.includes(kind)) throw new UsageError(`--kind must be one of ${KINDS.join(', ')}.`)
  const target = path.resolve(folder || name.replace(/^@.*\//, ''))
  const existing = FILES.filter((file) => existsSync(path.join(target, file)))
  if (existing.length > 0)
    throw new Error(
      `${target} already contains ${existing.join(', ')}, so nothing was written. Choose another folder.`,
    )
  await mkdir(target, { recursive: true })
  for (const file of FILES) {
    const source = SHARED_FILES.includes(file) ? file : `${kind}/${file}`
    await writeFile(path.join(target, file), renderFile(source, name), { flag: 'wx' })
  }
  await linkGateway(target)
  print(
    [
      `Wrote ${FILES.join(', ')} to ${target}.`,
      'Test it with "npm test" in that folder. To try it, add it in the file that CONFIG names:',
      `plugins: { add: [{ use: ${JSON.stringify(path.join(target, 'index.js'))}, before: firewall }] }`,
    ].join('\n'),
  )
}

function checkPackageName(name: string): void {
  if (!/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/.test(name) || name.length > 214)
    throw new UsageError(
      'NAME must be a name of an npm package: lower case letters, digits, ".", "_" and "-", with ' +
        'or without a scope.',
    )
  // npm refuses to publish these, and `import` of the former never finds a package.
  if (builtinModules.includes(name) || REFUSED_BY_NPM.includes(name))
    throw new UsageError(`NAME must not be ${name}, which npm refuses as the name of a package.`)
  if (name === 'signalbox' || BUILT_IN_NAMES.includes(name))
    throw new UsageError(`NAME must not be ${name}, which is part of the gateway.`)
}

const REFUSED_BY_NPM = ['node_modules', 'favicon.ico', 'node']

function renderFile(file: string, name: string): string {
  const text = readFileSync(shippedFile(`config/plugin-template/${file}`), 'utf8')
  const rendered = text.replaceAll(TEMPLATE_NAME, name)
  return file === 'package.json' ? addPeerDependency(rendered) : rendered
}

function addPeerDependency(manifest: string): string {
  const peerDependencies = { signalbox: `^${readVersion()}` }
  return `${JSON.stringify({ ...JSON.parse(manifest), peerDependencies }, undefined, 2)}\n`
}

/** `npm install` keeps the link, because it satisfies the peer dependency. */
async function linkGateway(target: string): Promise<void> {
  const link = path.join(target, 'node_modules', 'signalbox')
  if (existsSync(link)) return
  await mkdir(path.dirname(link), { recursive: true })
  await symlink(path.dirname(shippedFile('package.json')), link, 'junction')
}

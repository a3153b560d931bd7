import { CORE_SCHEMA, load, mergeTag } from 'js-yaml'

// Merge keys (`<<`) are part of YAML 1.1, which Compose supports.
const schema = CORE_SCHEMA.withTags(mergeTag)

/** The value of a YAML document. */
// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape of the document
export function parseYaml(text: string): any {
  return load(text, { schema })
}

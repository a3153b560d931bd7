/** The repository's root folder, as a URL that ends with `/`. */
export const ROOT = new URL('../../', import.meta.url)

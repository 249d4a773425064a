// The documentation site: Starlight with the pages that hack/docs/site.mjs writes into .generated, and one page per
// operation of the REST API. Builds without network; starlight-links-validator fails on a dead link or anchor.
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import { readFileSync } from 'node:fs'
import linksValidator from 'starlight-links-validator'
import openAPI, { openAPISidebarGroups } from 'starlight-openapi'

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const { docs, repository } = read('../../release.json')
const sidebar = read('./.generated/sidebar.json')

export default defineConfig({
  site: docs,
  srcDir: './.generated',
  telemetry: false,
  integrations: [
    starlight({
      title: 'Muster',
      description: 'A control plane for fleets of worker processes',
      social: [{ icon: 'github', label: 'Source', href: repository }],
      customCss: ['./site.css'],
      // A frame of a terminal around each command only takes space.
      expressiveCode: { defaultProps: { frame: 'none' } },
      plugins: [
        openAPI([
          { base: 'api', schema: './.generated/openapi.json', sidebar: { label: 'REST API', collapsed: true } },
        ]),
        linksValidator({ exclude: ['/api/**'] }),
      ],
      sidebar: [...sidebar, ...openAPISidebarGroups],
    }),
  ],
})
